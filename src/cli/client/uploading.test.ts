import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { Client } from './client.ts';

const MiB = 1024 * 1024;

async function clientOf(listener: RequestListener): Promise<Client> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return new Client({ baseUrl: `http://127.0.0.1:${port}`, findToken: async () => 'a-token' });
}

test('a file is sent in flat memory, however large it is', async () => {
  const client = await clientOf((request, response) => {
    let bytes = 0;
    request.on('data', (chunk: Buffer) => (bytes += chunk.length));
    request.on('end', () => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ bytes }));
    });
  });
  let most = 0;
  async function* content(): AsyncGenerator<Uint8Array> {
    for (let sent = 0; sent < 400; sent += 1) {
      yield Buffer.alloc(MiB);
      most = Math.max(most, process.memoryUsage().arrayBuffers);
    }
  }
  const { signal } = new AbortController();
  const upload = { contentType: 'application/octet-stream', content: content(), signal };
  expect(await client.upload('/', upload)).toEqual({ bytes: 400 * MiB });
  expect(most).toBeLessThan(250 * MiB);
});

test('a server that redirects an upload is named as the problem', async () => {
  const client = await clientOf((_request, response) => {
    response.writeHead(301, { location: 'http://127.0.0.1:1/' }).end();
  });
  async function* content(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('x');
  }
  const { signal } = new AbortController();
  const upload = { contentType: 'text/plain', content: content(), signal };
  await expect(client.upload('/', upload)).rejects.toMatchObject({
    message: expect.stringContaining('redirects to another address'),
    exitCode: 1,
  });
});
