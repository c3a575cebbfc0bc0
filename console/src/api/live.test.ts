import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Live } from './live.ts';

const patience = { timeout: 30_000 };

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A real server whose response can be changed, as if it restarted or stood behind another proxy. */
async function serve(
  port = 0,
): Promise<{ url: string; port: number; answer: (handler: Handler) => void; close: () => void }> {
  let handler: Handler = (_request, response) => response.end();
  const server: Server = createServer((request, response) => handler(request, response));
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(close);
  const bound = (server.address() as AddressInfo).port;
  return { url: `http://127.0.0.1:${bound}/`, port: bound, answer: (next) => (handler = next), close };
}

function liveOn(url: string, client = new QueryClient()): Live {
  const live = new Live(client, { url, pollMs: 20, firstPauseMs: 10, throttleMs: 10 });
  onTestFinished(() => live.stop());
  live.start();
  return live;
}

function stream(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(text);
}

function frame(id: string, type: string): string {
  return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify({ id, type, data: {} })}\n\n`;
}

test('a stream that ends is resumed after the last event, and no event comes twice', async () => {
  const server = await serve();
  const places: (string | undefined)[] = [];
  server.answer((request, response) => {
    places.push(request.headers['last-event-id'] as string | undefined);
    stream(response, frame(`1-${places.length}`, 'job.queued'));
    if (places.length < 3) response.end();
  });
  const live = liveOn(server.url);
  const seen: string[] = [];
  live.onEvent(({ id }) => seen.push(id));
  await vi.waitFor(() => expect(seen).toEqual(['1-1', '1-2', '1-3']), patience);
  expect(places).toEqual([undefined, '1-1', '1-2']);
  expect(live.state.kind).toBe('streaming');
});

test('an event refetches the visible queries of its area and nothing else', async () => {
  const server = await serve();
  let push: (text: string) => void = () => {};
  server.answer((_request, response) => {
    stream(response, 'id: 1-0\n\n');
    push = (text) => response.write(text);
  });
  const client = new QueryClient();
  const asked = { uploads: 0, knowledge: 0 };
  for (const area of ['uploads', 'knowledge'] as const) {
    const observer = new QueryObserver(client, { queryKey: [area], queryFn: () => ++asked[area] });
    onTestFinished(observer.subscribe(() => {}));
  }
  const live = liveOn(server.url, client);
  await vi.waitFor(() => expect(live.state.kind).toBe('streaming'), patience);
  push(frame('1-1', 'upload.completed'));
  await vi.waitFor(() => expect(asked).toEqual({ uploads: 2, knowledge: 1 }), patience);
});

test('a position that is gone is given up, everything is loaded anew, and the stream goes on from now', async () => {
  const server = await serve();
  const places: (string | undefined)[] = [];
  server.answer((request, response) => {
    const place = request.headers['last-event-id'] as string | undefined;
    places.push(place);
    if (place !== undefined) response.writeHead(410).end();
    else stream(response, frame(`${places.length}-1`, 'job.queued'));
    if (places.length === 1) response.end();
  });
  const client = new QueryClient();
  let asked = 0;
  const observer = new QueryObserver(client, { queryKey: ['knowledge'], queryFn: () => ++asked });
  onTestFinished(observer.subscribe(() => {}));
  const live = liveOn(server.url, client);
  const seen: string[] = [];
  live.onEvent(({ id }) => seen.push(id));
  await vi.waitFor(() => expect(seen).toEqual(['1-1', '3-1']), patience);
  expect(places).toEqual([undefined, '1-1', undefined]);
  await vi.waitFor(() => expect(asked).toBeGreaterThan(1), patience);
});

test('without a stream everything is polled every few seconds, and the dot shows it', async () => {
  const server = await serve();
  server.answer((_request, response) => response.writeHead(404).end());
  const client = new QueryClient();
  let asked = 0;
  const observer = new QueryObserver(client, { queryKey: ['jobs'], queryFn: () => ++asked });
  onTestFinished(observer.subscribe(() => {}));
  const live = liveOn(server.url, client);
  await vi.waitFor(() => expect(asked).toBeGreaterThan(2), patience);
  expect(live.state.kind).toBe('polling');
});

test('a server that goes away is shown as offline since then, and as live when it is back', async () => {
  const first = await serve();
  first.answer((_request, response) => stream(response, frame('7-0', 'job.queued')));
  const live = liveOn(first.url);
  const seen: string[] = [];
  live.onEvent(({ id }) => seen.push(id));
  await vi.waitFor(() => expect(seen).toEqual(['7-0']), patience);
  expect(live.state.kind).toBe('streaming');
  const goneAt = Date.now();
  first.close();
  await vi.waitFor(() => expect(live.state.kind).toBe('offline'), patience);
  if (live.state.kind === 'offline') expect(live.state.since.getTime()).toBeGreaterThanOrEqual(goneAt);
  const back = await serve(first.port);
  let place: unknown;
  back.answer((request, response) => {
    place = request.headers['last-event-id'];
    stream(response, 'id: 8-0\n\n');
  });
  await vi.waitFor(() => expect(live.state.kind).toBe('streaming'), patience);
  expect(place).toBe('7-0');
});

test('a session that has ended is not retried', async () => {
  const server = await serve();
  let requests = 0;
  server.answer((_request, response) => {
    requests += 1;
    response.writeHead(401).end();
  });
  const client = new QueryClient();
  let asked = 0;
  const observer = new QueryObserver(client, { queryKey: ['me'], queryFn: () => ++asked });
  onTestFinished(observer.subscribe(() => {}));
  liveOn(server.url, client);
  await vi.waitFor(() => expect(asked).toBe(2), patience);
  expect(requests).toBe(1);
});
