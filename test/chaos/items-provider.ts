import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** A request for one product: `GET /{variant}/{sku}`. */
export interface ProductCall {
  sku: string;
  variant: string;
  /** How many calls for this product came before, whatever became of them. */
  before: number;
}

export type ProductReply =
  | { status: number; body?: unknown; headers?: Record<string, string>; delayMs?: number }
  /** Never responds. */
  | { type: 'hang' }
  /** An HTML page with status 200. */
  | { type: 'garbage' };

/** One line of the provider's own log. */
export interface ProviderLine {
  sku: string;
  variant: string;
  /** The response; null when there was none. */
  status: number | null;
  /** When the call came, by the machine's clock. */
  at: number;
  /** How many calls were open then, this one included. */
  open: number;
}

/** A provider over real HTTP that follows a rule and logs its responses. */
export interface RuledProvider {
  readonly url: string;
  readonly log: readonly ProviderLine[];
  close(): Promise<void>;
}

export async function startRuledProvider(
  rule: (call: ProductCall) => ProductReply | Promise<ProductReply>,
): Promise<RuledProvider> {
  const log: ProviderLine[] = [];
  const seen = new Map<string, number>();
  const sockets = new Set<Socket>();
  let open = 0;
  const server = createServer(async (request, response) => {
    open += 1;
    response.on('close', () => {
      open -= 1;
    });
    request.resume();
    const [variant = '', sku = ''] = (request.url ?? '').slice(1).split('/').map(decodeURIComponent);
    const before = seen.get(sku) ?? 0;
    seen.set(sku, before + 1);
    const line = { sku, variant, at: Date.now(), open };
    const reply = await rule({ sku, variant, before });
    if ('type' in reply) {
      // Said before it is sent: a client may have read the answer before this process gets to the next line.
      log.push({ ...line, status: reply.type === 'garbage' ? 200 : null });
      if (reply.type === 'garbage') sendPage(response);
      return;
    }
    setTimeout(() => {
      log.push({ ...line, status: reply.status });
      response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
      response.end(JSON.stringify(reply.body ?? { error: `status ${reply.status}` }));
    }, reply.delayMs ?? 0);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    log,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function productOf(sku: string): { sku: string; title: string } {
  return { sku, title: `Title of ${sku}` };
}

function sendPage(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/html' }).end('<html>maintenance</html>');
}
