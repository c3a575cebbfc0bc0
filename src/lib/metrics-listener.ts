import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import { listenOn } from './listen.ts';
import { isSameSecret } from './same-secret.ts';
import type { Part } from './timing/closing.ts';

/** Metrics on a port of their own, which can stay closed to the network that the users come from. */
export async function startMetricsListener(options: {
  host: string;
  port: number;
  token: string | null;
  registry: Registry;
}): Promise<Part> {
  const server = createServer((request, response) => {
    respond(request, response, options).catch(() => {
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  const listen = ({ port, host }: { port: number; host: string }) =>
    new Promise<string>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, () => resolve(host));
    });
  await listenOn({ listen }, { ...options, isExplicit: true });
  return {
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  { token, registry }: { token: string | null; registry: Registry },
): Promise<void> {
  if (request.method !== 'GET' || request.url?.split('?')[0] !== '/metrics') {
    response.writeHead(404, { 'content-type': 'text/plain' }).end('There is only GET /metrics here.\n');
    return;
  }
  if (token !== null && !isSameSecret(request.headers.authorization ?? '', `Bearer ${token}`)) {
    response.writeHead(401, { 'www-authenticate': 'Bearer' }).end('Send METRICS_TOKEN as bearer token.\n');
    return;
  }
  const text = await registry.metrics();
  response.writeHead(200, { 'content-type': registry.contentType, 'cache-control': 'no-store' }).end(text);
}
