import type { IncomingMessage, ServerResponse } from 'node:http';
import { serveSite } from '../support/fakes/local-site.ts';

export const value = 'sk-7391/éa+b "quoted" & <tulip>';
export const name = 'provider_key';
export const pair = Buffer.from(`robot:${value}`).toString('base64');

/** Every spelling under which a provider could hand the value back. */
export const spellings = {
  'the value': value,
  'its JSON text': JSON.stringify(value).slice(1, -1),
  'its JSON text with escaped slashes': JSON.stringify(value).slice(1, -1).replaceAll('/', '\\/'),
  'its JSON text in ASCII': JSON.stringify(value)
    .slice(1, -1)
    .replace(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`),
  'its URL encoding': encodeURIComponent(value),
  'its URL encoding in lower case': encodeURIComponent(value).replace(/%../g, (code) => code.toLowerCase()),
  'its form encoding': String(new URLSearchParams([['k', value]])).slice(2),
  'its base64': Buffer.from(value).toString('base64'),
  'its base64 for URLs': Buffer.from(value).toString('base64url'),
  'its HTML text': value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
  'a bearer header': `Bearer ${value}`,
  'a basic pair': pair,
  'the base64 of a bearer header': Buffer.from(`Bearer ${value}`).toString('base64'),
};

/** A server that keeps what it was sent, and answers as the handler says. */
export async function provider(
  handler: (request: IncomingMessage, response: ServerResponse) => void = sayOk,
) {
  const seen: string[] = [];
  const site = await serveSite('127.0.0.1', (request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const body = Buffer.concat(pieces).toString();
      seen.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)} ${body}`);
      handler(request, response);
    });
  });
  const host = `127.0.0.1:${site.port}`;
  return { seen, host, url: `http://${host}/rows` };
}

function sayOk(_request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('content-type', 'application/json');
  response.end('{"ok":true}');
}
