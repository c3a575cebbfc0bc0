import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { ReadableStream as NodeStream } from 'node:stream/web';
import type { FastifyInstance } from 'fastify';
import type { FastifyHost, HostReply, HostRequest, Mounted } from './mounting.ts';

/** What is left of a path below the prefix; null when the path is elsewhere. */
function pathBelow(url: string, prefix = ''): string | null {
  const base = prefix.replace(/\/+$/, '');
  if (base === '') return url;
  if (!url.startsWith(base)) return null;
  const rest = url.slice(base.length);
  if (rest === '' || rest.startsWith('?')) return `/${rest}`;
  return rest.startsWith('/') ? rest : null;
}

const bodiless = new Set([101, 204, 205, 304]);

/**
 * The server as a function from a web-standard Request to a Response, without a port or a socket. Bodies and replies
 * stream, server-sent events too; they end when the request is aborted or the reply's stream is cancelled.
 */
export function webHandler(server: FastifyInstance) {
  return async (request: Request, { prefix, address = '0.0.0.0' }: Mounted = {}): Promise<Response> => {
    const url = new URL(request.url);
    const path = pathBelow(`${url.pathname}${url.search}`, prefix);
    if (path === null) return new Response('Not found', { status: 404 });
    const ended = new AbortController();
    const signal = AbortSignal.any([request.signal, ended.signal]);
    const reply = await server.inject({
      method: request.method as 'GET',
      url: path,
      headers: headersOf(request, { host: url.host, prefix }),
      ...(request.body && { payload: Readable.fromWeb(request.body as NodeStream) }),
      payloadAsStream: true,
      remoteAddress: address,
      signal,
    });
    const body = reply.stream();
    // Whoever reads the reply learns of an abort by its own signal.
    body.on('error', () => {});
    const headers = new Headers();
    for (const [name, value] of Object.entries(reply.headers)) {
      for (const one of Array.isArray(value) ? value : [value]) {
        if (one !== undefined && !perConnection.has(name)) headers.append(name, String(one));
      }
    }
    const init = { status: reply.statusCode, headers };
    if (bodiless.has(reply.statusCode) || request.method === 'HEAD') {
      body.resume();
      return new Response(null, init);
    }
    return new Response(
      streamOf(body, () => ended.abort()),
      init,
    );
  };
}

/** They are about a connection, and there is none. */
const perConnection = new Set(['connection', 'keep-alive', 'transfer-encoding']);

function headersOf(
  request: Request,
  { host, prefix }: { host: string; prefix: string | undefined },
): Record<string, string> {
  const headers = Object.fromEntries(request.headers);
  delete headers[prefixHeader];
  return { ...headers, host, ...(prefix && { [prefixHeader]: prefix }) };
}

/** Says below which path the console lies. Only mounts set it: what a client sends under this name is dropped. */
const prefixHeader = 'x-sluice-mount-prefix';

function streamOf(body: Readable, onCancel: () => void): ReadableStream<Uint8Array> {
  const reader = Readable.toWeb(body).getReader() as ReadableStreamDefaultReader<Uint8Array>;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      onCancel();
      await reader.cancel().catch(() => {});
    },
  });
}

/** The server as a handler of Node's own requests, for Express and other servers on node:http. */
export function nodeHandler(server: FastifyInstance) {
  return (
    request: IncomingMessage & { originalUrl?: string; baseUrl?: string },
    response: ServerResponse,
  ): void => {
    delete request.headers[prefixHeader];
    // Express has taken the path of the mount off already, and says which it was.
    if (request.baseUrl) request.headers[prefixHeader] = request.baseUrl;
    server.routing(request, response);
  };
}

/** The server as a plugin of another Fastify. It reads bodies itself, so parsers of the host do not count below it. */
export function fastifyMount(server: FastifyInstance) {
  return async (host: FastifyHost): Promise<void> => {
    const { prefix } = host;
    const handle = nodeHandler(server);
    host.removeAllContentTypeParsers();
    host.addContentTypeParser('*', (_request, _payload, done) => done(null));
    const pass = ({ raw }: HostRequest, reply: HostReply) => {
      reply.hijack();
      raw.url = pathBelow(raw.url ?? '/', prefix) ?? '/';
      handle(Object.assign(raw, { baseUrl: prefix }), reply.raw);
    };
    host.all('/', pass);
    host.all('/*', pass);
  };
}
