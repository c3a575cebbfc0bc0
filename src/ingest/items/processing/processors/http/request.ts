import type { FetchOptions } from '../../../../../lib/fetch/guarded-fetch.ts';
import { SecretScrubber } from '../../../../../lib/secret-scrubber.ts';
import type { ItemInput, ProcessorContext } from '../types.ts';
import type { HttpOptions, HttpRequest } from './options.ts';
import {
  columnOf,
  type Row,
  renderHeader,
  renderJson,
  renderText,
  renderUrl,
  TemplateError,
} from './template.ts';

/** A call that is ready to be made. */
export interface PreparedCall {
  url: string;
  fetchOptions: Pick<FetchOptions, 'method' | 'headers' | 'body'>;
}

/** The secret in the form in which it is sent, and what keeps it out of messages. */
export interface Credentials {
  headers: Record<string, string>;
  query: [string, string][];
  scrub(text: string): string;
}

const maxBodyBytes = 4 * 1024 * 1024;

export async function loadCredentials(
  { auth }: HttpOptions,
  context: Pick<ProcessorContext, 'secret'>,
): Promise<Credentials> {
  if (auth === undefined) return { headers: {}, query: [], scrub: (text) => text };
  // A secret that was pasted or read from a file often ends in a line break, which no header can hold.
  const secret = (await context.secret(auth.secret)).trim();
  const scrubber = new SecretScrubber([secret], { shortOnes: 'as words' });
  const scrub = (text: string) => scrubber.scrub(text);
  switch (auth.type) {
    case 'bearer':
      return { headers: { authorization: `Bearer ${secret}` }, query: [], scrub };
    case 'header':
      return { headers: { [auth.header.toLowerCase()]: `${auth.prefix}${secret}` }, query: [], scrub };
    case 'basic': {
      const pair = Buffer.from(`${auth.username}:${secret}`).toString('base64');
      scrubber.register([pair]);
      return { headers: { authorization: `Basic ${pair}` }, query: [], scrub };
    }
    case 'query':
      return { headers: {}, query: [[auth.parameter, secret]], scrub };
  }
}

export function prepareCall(request: HttpRequest, item: ItemInput, credentials: Credentials): PreparedCall {
  const body =
    request.body === undefined ? undefined : renderJson(request.body, (name) => columnOf(item.input, name));
  return prepare(request, { row: item.input, body, credentials });
}

export function prepareBatchCall(
  request: HttpRequest,
  { items, options, credentials }: { items: ItemInput[]; options: HttpOptions; credentials: Credentials },
): PreparedCall {
  const list = items.map(({ input }) => {
    const template = options.batch?.item;
    return template === undefined ? input : renderJson(template, (name) => columnOf(input, name));
  });
  const body = renderJson(request.body ?? '{{*}}', () => list);
  return prepare(request, { row: {}, body, credentials });
}

function prepare(
  request: HttpRequest,
  { row, body, credentials }: { row: Row; body: unknown; credentials: Credentials },
): PreparedCall {
  const headers: Record<string, string> = { accept: 'application/json, */*;q=0.5' };
  const text = body === undefined ? undefined : JSON.stringify(body);
  if (text !== undefined) headers['content-type'] = 'application/json';
  for (const [name, template] of Object.entries(request.headers)) {
    const value = renderHeader(template, row);
    if (value !== null) headers[name.toLowerCase()] = value;
  }
  if (text !== undefined && Buffer.byteLength(text) > maxBodyBytes) {
    throw new TemplateError(
      'template_value_refused',
      `The body of the request is larger than ${maxBodyBytes} bytes`,
    );
  }
  return {
    url: withQuery(renderUrl(request.url, row), [...renderQuery(request, row), ...credentials.query]),
    fetchOptions: { method: request.method, headers: { ...headers, ...credentials.headers }, body: text },
  };
}

function renderQuery({ query }: HttpRequest, row: Row): [string, string][] {
  return Object.entries(query).flatMap(([name, template]): [string, string][] => {
    const value = renderText(String(template), row);
    return value === null ? [] : [[name, value]];
  });
}

function withQuery(url: string, pairs: [string, string][]): string {
  if (pairs.length === 0) return url;
  const separator = url.includes('?') ? '&' : '?';
  return `${url}${separator}${new URLSearchParams(pairs)}`;
}
