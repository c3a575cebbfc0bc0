import type { Paths, Problem } from './types.ts';

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** The paths that have a method. */
export type PathOf<M extends Method> = {
  [P in keyof Paths]: M extends keyof Paths[P] ? P : never;
}[keyof Paths];

type Operation<P extends keyof Paths, M extends Method> = M extends keyof Paths[P] ? Paths[P][M] : never;
type Part<O, K extends string> = O extends Record<K, infer T> ? T : never;

/** What a call returns, by its path: `Reply<'/api/jobs'>`. */
export type Reply<P extends keyof Paths, M extends Method = 'get'> = Part<Operation<P, M>, 'reply'>;
export type QueryOf<P extends keyof Paths, M extends Method = 'get'> = Part<Operation<P, M>, 'query'>;

export interface CallOptions<P extends keyof Paths, M extends Method> {
  /** The names in braces: `{ path: { job_id } }`. */
  path?: Part<Operation<P, M>, 'path'>;
  query?: QueryOf<P, M>;
  body?: Part<Operation<P, M>, 'body'>;
  /** Multipart instead of JSON. */
  form?: FormData;
  /** Makes a repeated POST safe: the server returns the same response. */
  idempotencyKey?: string;
  signal?: AbortSignal;
}

/** Why the server refused a request; status 0: it could not be reached. */
export class ApiProblem extends Error {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly errors: Problem['errors'];
  readonly requestId: string | null;
  /** The whole response, with members that only this kind of problem has, such as `active_job_id`. */
  readonly document: Record<string, unknown>;

  constructor(status: number, document: Record<string, unknown>) {
    const text = (name: string, fallback: string) =>
      typeof document[name] === 'string' ? (document[name] as string) : fallback;
    super(text('detail', text('title', `The server returned ${status}.`)));
    this.name = 'ApiProblem';
    this.status = status;
    this.code = text('code', status === 0 ? 'unreachable' : `http_${status}`);
    this.title = text('title', 'The request failed');
    this.detail = this.message;
    this.errors = Array.isArray(document.errors) ? (document.errors as Problem['errors']) : [];
    this.requestId = text('request_id', '') || null;
    this.document = document;
  }
}

/** Typed calls: `api.get('/api/jobs/{job_id}', { path: { job_id } })`. They throw ApiProblem. */
export const api = {
  get: <P extends PathOf<'get'>>(path: P, options: CallOptions<P, 'get'> = {}) => call('get', path, options),
  post: <P extends PathOf<'post'>>(path: P, options: CallOptions<P, 'post'> = {}) =>
    call('post', path, options),
  put: <P extends PathOf<'put'>>(path: P, options: CallOptions<P, 'put'> = {}) => call('put', path, options),
  patch: <P extends PathOf<'patch'>>(path: P, options: CallOptions<P, 'patch'> = {}) =>
    call('patch', path, options),
  delete: <P extends PathOf<'delete'>>(path: P, options: CallOptions<P, 'delete'> = {}) =>
    call('delete', path, options),
};

/** For links and downloads: the address of a path with its names and query filled in. */
export function urlOf(path: string, parts: { path?: unknown; query?: unknown } = {}): string {
  const names = (parts.path ?? {}) as Record<string, unknown>;
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(names[name])));
  const query = queryText((parts.query ?? {}) as Record<string, unknown>);
  return query === '' ? filled : `${filled}?${query}`;
}

/** Undefined, null and empty text are left out; a list becomes one value with commas. */
export function queryText(query: Record<string, unknown>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === '') continue;
    search.set(name, Array.isArray(value) ? value.join(',') : String(value));
  }
  return search.toString();
}

async function call<P extends keyof Paths, M extends Method>(
  method: M,
  path: P,
  options: CallOptions<P, M>,
): Promise<Reply<P, M>> {
  const response = await send(method, urlOf(path, options), options);
  if (!response.ok) throw new ApiProblem(response.status, await problemOf(response));
  return (await contentOf(response)) as Reply<P, M>;
}

async function send(
  method: Method,
  url: string,
  options: { body?: unknown; form?: FormData; idempotencyKey?: string; signal?: AbortSignal },
): Promise<Response> {
  const { body, form, idempotencyKey, signal } = options;
  const headers: Record<string, string> = { accept: 'application/json' };
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey;
  try {
    return await fetch(url, {
      method: method.toUpperCase(),
      headers,
      body: form ?? (body === undefined ? null : JSON.stringify(body)),
      credentials: 'same-origin',
      signal: signal ?? null,
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiProblem(0, {
      code: 'unreachable',
      title: 'The server cannot be reached',
      detail: 'The server cannot be reached. What you see may be out of date; the console retries by itself.',
    });
  }
}

async function problemOf(response: Response): Promise<Record<string, unknown>> {
  const text = await response.text();
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    // A proxy in between may return its own page.
    return { title: `The server returned ${response.status}`, detail: text.slice(0, 300) };
  }
}

async function contentOf(response: Response): Promise<unknown> {
  if (response.status === 204) return null;
  const isJson = response.headers.get('content-type')?.includes('json') ?? false;
  return isJson ? response.json() : response.text();
}
