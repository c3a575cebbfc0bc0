import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { readVector } from '../../../src/ingest/knowledge/index/vector/vector-bytes.ts';
import { freePort } from './ports.ts';

/** One request for vectors. */
export interface EmbeddingCall {
  model: string;
  texts: readonly string[];
  /** Aborted when the client has gone. */
  signal: AbortSignal;
}

/** OpenAI's embeddings over real HTTP, for nothing. It keeps a ledger of every text that it was asked for. */
export interface EmbeddingServer {
  /** What a knowledge base is told as `base_url`. */
  readonly url: string;
  readonly calls: readonly EmbeddingCall[];
  /** Runs before a call gets its response; may wait, and returns a status to refuse it with. */
  onCall: (call: EmbeddingCall) => Promise<number | null> | number | null;
  close(): Promise<void>;
}

export const embeddingDimensions = 16;

/** `port`: that of one that was closed, so that it comes back. */
export async function startEmbeddingServer({ port }: { port?: number } = {}): Promise<EmbeddingServer> {
  const calls: EmbeddingCall[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  const place = port ?? (await freePort());
  await new Promise<void>((resolve) => server.listen(place, '127.0.0.1', resolve));
  const made: EmbeddingServer = {
    url: `http://127.0.0.1:${place}/v1`,
    calls,
    onCall: () => null,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return made;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const left = new AbortController();
    response.on('close', () => left.abort());
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const { model, input } = JSON.parse(Buffer.concat(pieces).toString('utf8')) as {
      model: string;
      input: string[];
    };
    const call = { model, texts: input, signal: left.signal };
    calls.push(call);
    const refusal = await made.onCall(call);
    if (refusal !== null) {
      response.writeHead(refusal, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: `status ${refusal}` } }));
      return;
    }
    const data = input.map((text, index) => ({ index, embedding: [...vectorOfText(text)] }));
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ model, data }));
  }
}

/** Whether these are the bytes of the vector that was returned for this text. */
export function isVectorOf(text: string, bytes: Buffer): boolean {
  const wanted = vectorOfText(text);
  const found = readVector(bytes);
  return (
    found.length === wanted.length && found.every((value, at) => Math.abs(value - (wanted[at] ?? 0)) < 1e-5)
  );
}

/** Of length 1, and another one for each text: a vector that landed at another text is seen. */
function vectorOfText(text: string): Float32Array {
  const bytes = createHash('sha256').update(text).digest();
  const raw = Float32Array.from({ length: embeddingDimensions }, (_, at) => (bytes[at] ?? 0) - 127.5);
  const length = Math.hypot(...raw);
  return raw.map((value) => value / length);
}
