import type { IncomingMessage, ServerResponse } from 'node:http';

const maxBodyBytes = 64 * 1024;

export async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBodyBytes) return {};
    chunks.push(chunk);
  }
  try {
    const read: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    return typeof read === 'object' && read !== null ? (read as Record<string, unknown>) : {};
  } catch {
    // A peer of the demo says what is missing instead.
    return {};
  }
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}
