import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/**
 * A provider over real HTTP that misbehaves on demand. It looks products up: `GET /items/{sku}` returns
 * `{sku, title}`, `POST /batch` with `{items: [{sku}]}` returns `{results: [{sku, title}]}` in the same order. A SKU
 * that begins with `missing` gets a 404, in a batch null.
 */
export interface FlakyProvider {
  readonly url: string;
  readonly host: string;
  /** Every request that arrived, in order. */
  readonly calls: ProviderRequest[];
  /** The most requests that were open at one time. */
  readonly mostAtOnce: number;
  /** What happens to the next requests, one step each; then all is well again. */
  script(...steps: Misbehaviour[]): void;
  /** From now on each request that has no step misbehaves with this probability; `random` is in [0, 1). */
  misbehave(rates: { misbehaviour: Misbehaviour; rate: number }[], random?: () => number): void;
  close(): Promise<void>;
}

export interface ProviderRequest {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

export type Misbehaviour =
  /** Any response. */
  | { type: 'answer'; status: number; body?: unknown; headers?: Record<string, string> }
  /** JSON text that no object can represent. */
  | { type: 'json'; text: string }
  /** 429, with Retry-After when there is one. */
  | { type: 'throttle'; retryAfter?: string }
  /** Never responds. */
  | { type: 'hang' }
  /** Responds correctly, but only after a while. */
  | { type: 'slow'; delayMs: number }
  /** An HTML page with status 200. */
  | { type: 'garbage' }
  /** Truncated JSON in a complete HTTP response. */
  | { type: 'truncated-json' }
  /** A response that ends in the middle, for HTTP too. */
  | { type: 'truncated' }
  /** Cuts the connection before it responds. */
  | { type: 'reset' }
  /** Nothing goes wrong. */
  | { type: 'ok' };

export async function startFlakyProvider({ host = '127.0.0.1' } = {}): Promise<FlakyProvider> {
  const calls: ProviderRequest[] = [];
  const steps: Misbehaviour[] = [];
  const sockets = new Set<Socket>();
  let roll: () => Misbehaviour = () => ({ type: 'ok' });
  let open = 0;
  let mostAtOnce = 0;
  const server = createServer(async (request, response) => {
    open += 1;
    mostAtOnce = Math.max(mostAtOnce, open);
    response.on('close', () => {
      open -= 1;
    });
    const call = await readRequest(request);
    calls.push(call);
    respond(steps.shift() ?? roll(), call, response);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const address = `${host}:${(server.address() as AddressInfo).port}`;
  return {
    url: `http://${address}`,
    host: address,
    calls,
    get mostAtOnce() {
      return mostAtOnce;
    },
    script: (...more) => steps.push(...more),
    misbehave: (rates, random = Math.random) => {
      roll = () => pick(rates, random());
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readRequest(request: IncomingMessage): Promise<ProviderRequest> {
  let body = '';
  for await (const text of request.setEncoding('utf8')) body += text;
  return { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body };
}

function pick(rates: { misbehaviour: Misbehaviour; rate: number }[], drawn: number): Misbehaviour {
  let sum = 0;
  for (const { misbehaviour, rate } of rates) {
    sum += rate;
    if (drawn < sum) return misbehaviour;
  }
  return { type: 'ok' };
}

function respond(step: Misbehaviour, call: ProviderRequest, response: ServerResponse): void {
  switch (step.type) {
    case 'ok':
      answerWell(call, response);
      break;
    case 'answer':
      send(response, step.status, { body: step.body, headers: step.headers });
      break;
    case 'json':
      response.writeHead(200, { 'content-type': 'application/json' }).end(step.text);
      break;
    case 'throttle': {
      const headers: Record<string, string> = {};
      if (step.retryAfter !== undefined) headers['retry-after'] = step.retryAfter;
      send(response, 429, { body: { error: 'slow down' }, headers });
      break;
    }
    case 'hang':
      break;
    case 'slow':
      setTimeout(() => answerWell(call, response), step.delayMs);
      break;
    case 'garbage':
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>maintenance</html>');
      break;
    case 'truncated-json':
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"sku": "a", "tit');
      break;
    case 'truncated':
      response.writeHead(200, { 'content-length': '1000' }).write('{"sku":', () => response.destroy());
      break;
    case 'reset':
      response.destroy();
  }
}

function answerWell(call: ProviderRequest, response: ServerResponse): void {
  const { pathname } = new URL(call.path, 'http://provider');
  if (pathname === '/batch') {
    const { items } = JSON.parse(call.body) as { items: { sku: string }[] };
    send(response, 200, { body: { results: items.map(({ sku }) => findProduct(sku)) } });
    return;
  }
  const product = findProduct(decodeURIComponent(pathname.slice('/items/'.length)));
  if (product === null) send(response, 404, { body: { error: 'no such product' } });
  else send(response, 200, { body: product });
}

function findProduct(sku: string): { sku: string; title: string } | null {
  return sku.startsWith('missing') ? null : { sku, title: `Title of ${sku}` };
}

function send(
  response: ServerResponse,
  status: number,
  { body, headers = {} }: { body?: unknown; headers?: Record<string, string> },
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}
