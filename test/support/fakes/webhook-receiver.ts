import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterAll, beforeAll } from 'vitest';
import { listenApart } from './ports.ts';

/** A message as it arrived, signed or not. */
export interface Received {
  path: string;
  id: string;
  timestampSeconds: number;
  /** One or more, separated by blanks. */
  signature: string;
  contentType: string;
  body: string;
  event: { id: string; type: string; subject: string; tenantid: string; data: Record<string, unknown> };
  /** Of how many tries of the same message this is, from 1. */
  turn: number;
}

export interface ReceiverAnswer {
  status: number;
  headers?: Record<string, string>;
  body?: string;
  /** Until it responds; Infinity: never. */
  afterMs?: number;
}

export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** The response; a test may set another. */
  answer: (message: Received) => ReceiverAnswer | Promise<ReceiverAnswer>;
  /** Refuses connections until it is up again, at the same address. */
  down(): Promise<void>;
  up(): Promise<void>;
}

/** A real consumer of webhooks on this machine. */
export function useReceiver(): Receiver {
  let port = 0;
  const server = createServer((request, response) => {
    void take(receiver, request, response);
  });
  const receiver = {
    url: '',
    received: [] as Received[],
    answer: accept,
    up: () => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve)),
    down: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  beforeAll(async () => {
    port = await listenApart(server);
    receiver.url = `http://127.0.0.1:${port}/hook`;
  });
  afterAll(() => receiver.down());
  return receiver;
}

export const accept: Receiver['answer'] = () => ({ status: 204 });

/** A port on which nothing listens: it is outside of the range of ephemeral ports. */
export const unusedUrl = 'http://127.0.0.1:2/hook';

/** As the documentation tells consumers to do it. */
export function isSigned(message: Received, secret: string): boolean {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const content = `${message.id}.${message.timestampSeconds}.${message.body}`;
  const expected = `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
  return message.signature.split(' ').includes(expected);
}

async function take(
  receiver: { received: Received[]; answer: Receiver['answer'] },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString();
  const header = (name: string) => String(request.headers[name] ?? '');
  const id = header('webhook-id');
  const message: Received = {
    path: request.url ?? '',
    id,
    timestampSeconds: Number(header('webhook-timestamp')),
    signature: header('webhook-signature'),
    contentType: header('content-type'),
    body,
    event: JSON.parse(body),
    turn: receiver.received.filter((one) => one.id === id).length + 1,
  };
  receiver.received.push(message);
  const { status, headers = {}, body: text = '', afterMs = 0 } = await receiver.answer(message);
  if (afterMs === Number.POSITIVE_INFINITY) return;
  if (afterMs > 0) await new Promise((resolve) => setTimeout(resolve, afterMs));
  response.writeHead(status, headers).end(text);
}
