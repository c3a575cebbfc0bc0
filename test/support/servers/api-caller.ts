import type { TestClaims, TestServer } from './server.ts';

interface ApiCall {
  method?: string;
  body?: object | FormData;
  headers?: Record<string, string>;
}

export interface ApiReply<Body = Record<string, unknown>> {
  status: number;
  text: string;
  headers: Headers;
  /** An empty object when the reply has no JSON. */
  body: Body;
}

/** Calls the API as somebody: objects are sent as JSON, forms as they are. */
export function apiCaller<Body = Record<string, unknown>>(server: Pick<TestServer, 'url' | 'bearer'>) {
  return async (
    claims: TestClaims,
    route: string,
    { method = 'GET', body, headers: more = {} }: ApiCall = {},
  ): Promise<ApiReply<Body>> => {
    const isForm = body instanceof FormData;
    const headers: Record<string, string> = { ...(await server.bearer(claims)), ...more };
    if (body && !isForm) headers['content-type'] = 'application/json';
    const reply = await fetch(`${server.url}${route}`, {
      method,
      headers,
      ...(body ? { body: isForm ? body : JSON.stringify(body) } : {}),
    });
    const text = await reply.text();
    const isJson = (reply.headers.get('content-type')?.includes('json') ?? false) && text !== '';
    return {
      status: reply.status,
      text,
      headers: reply.headers,
      body: (isJson ? JSON.parse(text) : {}) as Body,
    };
  };
}

/** Reads with GET, or posts the body; throws when the reply is no success. */
export function callOrThrow(server: Pick<TestServer, 'url' | 'bearer'>, claims: () => TestClaims) {
  const call = apiCaller(server);
  return async (route: string, body?: object): Promise<Record<string, unknown>> => {
    const reply = await call(claims(), route, body ? { method: 'POST', body } : {});
    if (reply.status >= 300) throw new Error(`${route} returned ${reply.status}: ${reply.text}`);
    return reply.body;
  };
}
