import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';

/** A part of a form as it is sent; `content` may be generated while it is sent. */
export interface FormPart {
  name: string;
  content: string | Uint8Array | Iterable<Uint8Array>;
  /** With a file name it is a file, also an empty one. */
  fileName?: string;
  mediaType?: string;
  /** Further headers of the part. */
  headers?: Record<string, string>;
}

export const boundary = 'a-boundary-of-the-tests';
export const formType = `multipart/form-data; boundary=${boundary}`;

/** The bytes of a form, written by hand: a form of the platform's would never be wrong. */
export function* formBytes(parts: readonly FormPart[], { isClosed = true } = {}): Generator<Uint8Array> {
  for (const part of parts) {
    yield Buffer.from(`--${boundary}\r\n${headersOf(part)}\r\n\r\n`);
    if (typeof part.content === 'string') yield Buffer.from(part.content);
    else if (part.content instanceof Uint8Array) yield part.content;
    else yield* part.content;
    yield Buffer.from('\r\n');
  }
  if (isClosed) yield Buffer.from(`--${boundary}--\r\n`);
}

function headersOf({ name, fileName, mediaType, headers = {} }: FormPart): string {
  const file = fileName === undefined ? '' : `; filename="${fileName}"`;
  const lines = [`content-disposition: form-data; name="${name}"${file}`];
  if (mediaType !== undefined) lines.push(`content-type: ${mediaType}`);
  return [...lines, ...Object.entries(headers).map(([key, value]) => `${key}: ${value}`)].join('\r\n');
}

/** `total` bytes, the same piece again and again: a large upload that is never in memory. */
export function* repeated(piece: string, totalBytes: number): Generator<Uint8Array> {
  const bytes = Buffer.from(piece.repeat(Math.ceil(65_536 / piece.length)));
  for (let sent = 0; sent < totalBytes; sent += bytes.length) yield bytes;
}

export interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  body: Record<string, unknown>;
  sentBytes: number;
}

/** Sends a whole body even if the response came long before its end: a server must cope with that. */
export async function sendBody(
  url: string,
  { headers, body }: { headers: Record<string, string>; body: Iterable<Uint8Array> },
): Promise<Answer> {
  // As browsers do. A connection that is closed with the response may be reset before the response is read.
  const agent = new Agent({ keepAlive: true });
  const sent = request(url, { method: 'POST', headers, agent });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    sent.on('response', resolve).on('error', reject);
  });
  const answer = answered.then(readAnswer);
  try {
    let sentBytes = 0;
    for (const chunk of body) {
      if (!sent.write(chunk)) await drained(sent);
      sentBytes += chunk.length;
    }
    sent.end();
    return { ...(await answer), sentBytes };
  } finally {
    agent.destroy();
  }
}

/** The socket is asked too: once the answer has come, node tells the request no more. A closed one never drains. */
function drained(sent: ClientRequest): Promise<void> {
  const { socket } = sent;
  return new Promise((resolve) => {
    const done = (): void => {
      sent.off('drain', done).off('close', done);
      socket?.off('drain', done);
      resolve();
    };
    sent.on('drain', done).on('close', done);
    socket?.on('drain', done);
    if (sent.destroyed) done();
  });
}

async function readAnswer(response: IncomingMessage): Promise<Omit<Answer, 'sentBytes'>> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return { status: response.statusCode ?? 0, headers: response.headers, body: JSON.parse(text) };
}
