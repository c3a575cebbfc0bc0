import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import {
  createGuardedFetch,
  type GuardedFetch,
  type GuardedFetchSettings,
} from '../../../src/lib/fetch/guarded-fetch.ts';

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A web server of one test, and what arrived at it. */
export interface Site {
  port: number;
  requests: IncomingMessage[];
  connections: number;
}

/** Runs until the test ends. */
export async function serveSite(host: string, handler: Handler, port = 0): Promise<Site> {
  const site: Site = { port, requests: [], connections: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    site.requests.push(request);
    handler(request, response);
  });
  server.on('connection', (socket) => {
    site.connections += 1;
    sockets.add(socket);
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  site.port = (server.address() as AddressInfo).port;
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return site;
}

/** The product's fetch, closed when the test ends. */
export function guardedFetch(settings: Partial<GuardedFetchSettings> = {}): GuardedFetch {
  const fetch = createGuardedFetch({ blockPrivateAddresses: true, userAgent: 'test/1', ...settings });
  onTestFinished(() => fetch.close());
  return fetch;
}
