import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { SlowBodies } from './slow-bodies.ts';

const clock = { atMs: 0, nowMs: () => clock.atMs };

/** A server that never answers by itself, and a client that sends what it is told; the test lets time pass. */
async function openConnection({ isRead = true, length = '1000000' } = {}) {
  const bodies = new SlowBodies({ slowBodySeconds: 30, slowBodyBytesPerSecond: 1024 }, clock);
  let arrived: IncomingMessage | undefined;
  const server = createServer((request, response) => {
    arrived = request;
    bodies.watch(request, response);
    // The form of a file may take longer than a window; a short body may not.
    bodies.meet({
      request: {
        raw: request,
        id: 'r',
        routeOptions: { config: { takesData: true } },
        isMultipart: () => true,
      },
      hijack: () => {},
    } as never);
    if (isRead) request.resume();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => {
    socket.destroy();
    server.close();
  });
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n`);
  await vi.waitFor(() => expect(arrived).toBeDefined(), { timeout: 30_000, interval: 2 });
  let sent = arrived?.socket.bytesRead ?? 0;
  const send = async (bytes: number) => {
    socket.write('x'.repeat(bytes));
    sent += bytes;
    await vi.waitFor(() => expect(arrived?.socket.bytesRead).toBe(sent), { timeout: 30_000, interval: 2 });
  };
  const pass = (seconds: number) => {
    clock.atMs += seconds * 1000;
    bodies.sweep();
  };
  return { bodies, socket, send, pass };
}

async function readAll(socket: Socket): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of socket) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}

describe('a sender', () => {
  test('that drips below the limit is told 408 and cut off when the window is over', async () => {
    const { bodies, socket, send, pass } = await openConnection();
    for (let second = 0; second < 29; second += 1) {
      await send(1_000);
      pass(1);
      expect(bodies.count).toBe(1);
    }
    pass(1);
    expect(bodies.count).toBe(0);
    const answer = await readAll(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(answer).toContain('"code":"body_too_slow"');
    expect(answer).toContain('at least 30720 must arrive');
  });

  test('that stays above the limit is not cut off, however long it takes', async () => {
    const { bodies, send, pass } = await openConnection();
    for (let second = 0; second < 100; second += 1) {
      await send(1_100);
      pass(1);
    }
    expect(bodies.count).toBe(1);
  });

  test('that sends much first and drips then is cut off a window later', async () => {
    const { bodies, socket, send, pass } = await openConnection();
    await send(300_000);
    pass(1);
    for (let second = 0; second < 30; second += 1) pass(1);
    expect(bodies.count).toBe(0);
    await readAll(socket);
  });

  test('whose bytes nobody has read yet waits for us and is not cut off', async () => {
    const { bodies, send, pass } = await openConnection({ isRead: false });
    await send(1_000);
    for (let second = 0; second < 100; second += 1) pass(1);
    expect(bodies.count).toBe(1);
  });

  test('that has sent all of its body is no longer watched', async () => {
    const { bodies, send, pass } = await openConnection({ length: '10' });
    await send(10);
    pass(1);
    expect(bodies.count).toBe(0);
  });
});
