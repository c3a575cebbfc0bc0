import { createConnection, createServer, type NetConnectOpts, type Socket } from 'node:net';

/**
 * A TCP proxy that does to connections what networks do: cuts them, delays them, lets them fall silent without
 * closing them, and loses the server's response to a COMMIT that has arrived.
 */
export interface TcpProxy {
  readonly port: number;
  /** New connections lead there from now on; those that are open stay where they are. */
  pointTo(target: NetConnectOpts): void;
  /** Connections that are open and not silent. */
  readonly size: number;
  /** Cuts one connection on both sides; false when there is none. `pick` chooses among so many. */
  cut(pick: Pick): boolean;
  /** From now on everything on one connection arrives this much later. */
  delay(pick: Pick, delayMs: number): (() => void) | null;
  /** One connection goes half-open: nothing passes any more, and neither side hears of it. */
  silence(pick: Pick): boolean;
  /** The connection over which this text is sent next goes half-open before it arrives. */
  silenceAt(text: string): Promise<void>;
  /** Forwards the next COMMIT, waits for the server's answer, drops it and cuts. Resolves when it has happened. */
  loseNextCommit(): Promise<void>;
  close(): Promise<void>;
}

type Pick = (count: number) => number;

interface Link {
  client: Socket;
  server: Socket;
  delayMs: number;
  state: 'flowing' | 'silent' | 'losing-answer';
}

interface Traps {
  commitsToLose: (() => void)[];
  textsToLose: { text: string; resolve: () => void }[];
}

export async function startTcpProxy(firstTarget: NetConnectOpts): Promise<TcpProxy> {
  let target = firstTarget;
  const links = new Set<Link>();
  const traps: Traps = { commitsToLose: [], textsToLose: [] };
  const listener = createServer((client) => {
    const link: Link = { client, server: createConnection(target), delayMs: 0, state: 'flowing' };
    links.add(link);
    connectLink(link, links, traps);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const address = listener.address();
  const flowing = () => [...links].filter((link) => link.state === 'flowing');
  const choose = (pick: Pick): Link | null => flowing()[pick(flowing().length)] ?? null;
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    pointTo(next) {
      target = next;
    },
    get size() {
      return flowing().length;
    },
    cut(pick) {
      const link = choose(pick);
      if (link) sever(link);
      return link !== null;
    },
    delay(pick, delayMs) {
      const link = choose(pick);
      if (!link) return null;
      link.delayMs = delayMs;
      return () => sever(link);
    },
    silence(pick) {
      const link = choose(pick);
      if (link) link.state = 'silent';
      return link !== null;
    },
    silenceAt: (text) => new Promise((resolve) => traps.textsToLose.push({ text, resolve })),
    loseNextCommit: () => new Promise((resolve) => traps.commitsToLose.push(resolve)),
    async close() {
      for (const link of links) sever(link);
      await new Promise<void>((resolve) => listener.close(() => resolve()));
    },
  };
}

function connectLink(link: Link, links: Set<Link>, traps: Traps): void {
  const { client, server } = link;
  client.setNoDelay(true);
  let onLoss: () => void = () => {};
  client.on('data', (chunk) => {
    if (link.state === 'flowing' && traps.commitsToLose.length > 0 && isCommit(chunk)) {
      link.state = 'losing-answer';
      onLoss = traps.commitsToLose.shift() ?? onLoss;
    }
    const [trap] = traps.textsToLose;
    if (link.state === 'flowing' && trap && chunk.includes(trap.text)) {
      link.state = 'silent';
      traps.textsToLose.shift();
      trap.resolve();
    }
    if (link.state !== 'silent') forward(server, chunk, link.delayMs);
  });
  server.on('data', (chunk) => {
    if (link.state === 'losing-answer') {
      sever(link);
      onLoss();
    } else if (link.state === 'flowing') forward(client, chunk, link.delayMs);
  });
  // A silent link stays on the list, so that the other side's socket is closed when the proxy is.
  const end = (): void => {
    if (link.state === 'silent') return;
    // A server that dies before it responds has lost the COMMIT's response too.
    if (link.state === 'losing-answer') onLoss();
    sever(link);
    links.delete(link);
  };
  for (const socket of [client, server]) {
    socket.on('error', () => {});
    socket.on('close', end);
  }
}

function forward(to: Socket, chunk: Buffer, delayMs: number): void {
  // Timers of one duration fire in the order in which they were set, so the bytes stay in order.
  if (delayMs > 0) setTimeout(() => to.writable && to.write(chunk), delayMs);
  else if (to.writable) to.write(chunk);
}

function sever({ client, server }: Link): void {
  client.destroy();
  server.destroy();
}

/** The driver writes `commit` as a chunk of its own, or parses it as the last statement of a message. */
function isCommit(chunk: Buffer): boolean {
  return (chunk.length === 12 && chunk.toString('latin1', 5) === 'commit\0') || chunk.includes(parsedCommit);
}

const parsedCommit = Buffer.from('P\0\0\0\x0e\0commit\0\0\0', 'latin1');
