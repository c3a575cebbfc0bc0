import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { seededRandom } from '../../chaos/seeded-random.ts';

/** What became of a call: its status, or a connection that was reset. */
export type BucketAnswer = 200 | 404 | 429 | 500 | 503 | 'reset';

/** One line of the provider's own ledger, by its own clock. */
export interface BucketCall {
  sku: string;
  /** When it came, in milliseconds since the provider was started. */
  atMs: number;
  /** When it was answered; null while it is open. */
  answeredAtMs: number | null;
  key: string | null;
  answer: BucketAnswer;
  /** The bucket had room for it, whatever the answer was. */
  isAllowed: boolean;
}

export interface BucketRules {
  /** Calls per second, and how many are saved up; without them there is no limit. */
  perSecond?: number;
  burst?: number;
  /** In seconds, with every 429; without it the header is not sent. */
  retryAfter?: number;
  latencyMs?: number;
  /** Shares of the calls that the bucket allows. */
  failures?: { status?: number; reset?: number; throttle?: number };
  seed?: number;
  /** What every call for this product gets, whatever the limits say. */
  always?: (sku: string) => BucketAnswer | null;
}

/**
 * A provider over real HTTP, `GET /items/{sku}`, that allows so many calls a second by a token bucket on its own clock,
 * breaks a share of them, can be out for a while, and keeps a ledger. It is the judge: no clock of ours decides.
 */
export interface BucketProvider {
  readonly url: string;
  readonly calls: readonly BucketCall[];
  nowMs(): number;
  /** From now on every call is answered with this, or as usual again. */
  setOutage(answer: BucketAnswer | null): void;
  /** How many calls it allowed in this stretch of its time, as a share of what it would have allowed. */
  usedShare(fromMs: number, toMs: number): number;
  close(): Promise<void>;
}

export async function startBucketProvider(rules: BucketRules): Promise<BucketProvider> {
  const startedAt = performance.now();
  const nowMs = () => performance.now() - startedAt;
  const calls: BucketCall[] = [];
  const sockets = new Set<Socket>();
  const judge = judgeOf(rules);
  let outage: BucketAnswer | null = null;
  const server = createServer((request, response) => {
    request.resume();
    const sku = skuOf(request);
    const atMs = nowMs();
    const verdict = outage === null ? judge(sku, atMs) : { answer: outage, isAllowed: false };
    const header = request.headers['idempotency-key'];
    const key = typeof header === 'string' ? header : null;
    const call: BucketCall = { sku, atMs, answeredAtMs: null, key, ...verdict };
    calls.push(call);
    setTimeout(() => {
      call.answeredAtMs = nowMs();
      respond(call, { response, retryAfter: rules.retryAfter });
    }, rules.latencyMs ?? 0);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    nowMs,
    setOutage: (answer) => {
      outage = answer;
    },
    usedShare: (fromMs, toMs) => {
      const allowed = calls.filter(
        ({ atMs, isAllowed }) => isAllowed && atMs >= fromMs && atMs < toMs,
      ).length;
      return allowed / (((toMs - fromMs) / 1000) * (rules.perSecond ?? Number.POSITIVE_INFINITY));
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function judgeOf({ perSecond, burst = 1, failures = {}, seed = 1, always }: BucketRules) {
  const random = seededRandom(seed);
  let tokens = burst;
  let filledAtMs = 0;
  return (sku: string, atMs: number): Pick<BucketCall, 'answer' | 'isAllowed'> => {
    const fixed = always?.(sku) ?? null;
    if (fixed !== null) return { answer: fixed, isAllowed: fixed !== 429 };
    if (perSecond !== undefined) {
      tokens = Math.min(burst, tokens + ((atMs - filledAtMs) / 1000) * perSecond);
      filledAtMs = atMs;
      if (tokens < 1) return { answer: 429, isAllowed: false };
      tokens -= 1;
    }
    const { status = 0, reset = 0, throttle = 0 } = failures;
    const drawn = random.next();
    if (drawn < status) return { answer: 503, isAllowed: true };
    if (drawn < status + reset) return { answer: 'reset', isAllowed: true };
    if (drawn < status + reset + throttle) return { answer: 429, isAllowed: false };
    return { answer: 200, isAllowed: true };
  };
}

function respond(
  { answer, sku }: BucketCall,
  { response, retryAfter }: { response: ServerResponse; retryAfter: number | undefined },
): void {
  if (answer === 'reset') {
    response.destroy();
    return;
  }
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (answer === 429 && retryAfter !== undefined) headers['retry-after'] = String(retryAfter);
  response.writeHead(answer, headers);
  response.end(
    JSON.stringify(answer === 200 ? { sku, title: `Title of ${sku}` } : { error: `status ${answer}` }),
  );
}

function skuOf(request: IncomingMessage): string {
  return decodeURIComponent((request.url ?? '').split('/').at(-1) ?? '');
}
