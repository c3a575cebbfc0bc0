import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DemoAirbyte } from './airbyte.ts';
import { DemoProvider } from './provider.ts';
import { handleSite } from './site.ts';

/** The other side of the demo: an Airbyte, a price service and a site, on one port of this machine alone. */
export class DemoPeers {
  readonly #token: string;
  #server: Server | null = null;
  #provider: DemoProvider | null = null;

  constructor(token: string) {
    this.#token = token;
  }

  get isOpen(): boolean {
    return this.#server !== null;
  }

  /** Listens on the port, or on a free one; null: the port is taken, perhaps by another process of this machine. */
  async open(port: number | null): Promise<number | null> {
    await this.close();
    const airbyte = new DemoAirbyte(this.#token);
    const provider = new DemoProvider();
    const server = createServer((request, response) => {
      void handle({ airbyte, provider }, request, response);
    });
    const isListening = await new Promise<boolean>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) =>
        error.code === 'EADDRINUSE' ? resolve(false) : reject(error),
      );
      server.listen(port ?? 0, '127.0.0.1', () => resolve(true));
    });
    if (!isListening) return null;
    this.#server = server;
    this.#provider = provider;
    return (server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    this.#provider?.close();
    if (server === null) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }
}

async function handle(
  { airbyte, provider }: { airbyte: DemoAirbyte; provider: DemoProvider },
  request: IncomingMessage,
  response: ServerResponse,
) {
  response.setHeader('x-sluice-demo', 'this is the demo of Sluice, not a real service');
  const url = new URL(request.url ?? '/', `http://${request.headers.host ?? '127.0.0.1'}`);
  if (url.pathname.startsWith('/v1/')) return airbyte.handle(request, response, url);
  if (url.pathname === '/provider/price') return provider.handle(response, url);
  handleSite(response, url);
}
