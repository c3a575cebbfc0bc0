import { randomBytes } from 'node:crypto';
import path from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { publicProblems } from '../../kernel/http/replies.ts';
import type { RouteApp } from '../../kernel/http/route.ts';
import { packageDir } from '../../lib/package-dir.ts';
import { apiErrors } from '../errors.ts';
import { type ConsoleFile, type ConsoleFiles, digestOf, loadConsoleFiles } from './files.ts';
import { consolePolicy } from './security-headers.ts';

const builtDirectory = path.join(packageDir, 'console/dist');
/** Paths that are never a view of the console, whatever the browser accepts. */
const notOfConsole = /^\/(api|assets|docs|health|login|metrics)(\/|$)/;
const nonceShape = /^"[\w-]{22}\.([\w-]{22})"$/;

export type SendPage = (request: FastifyRequest, reply: FastifyReply) => FastifyReply;

/** Serves the console: its files, and its one page at every path of a view. Returns how to send that page. */
export function installConsole(app: RouteApp, directory = builtDirectory): SendPage {
  const built = loadConsoleFiles(directory);
  const sendPage = pageSender(built);
  app.route({
    method: 'GET',
    url: '/*',
    config: { public: true },
    schema: { hide: true, response: { 200: z.unknown(), 304: z.unknown(), ...publicProblems(404) } },
    handler: async (request, reply) => {
      const asked = request.url.split('?')[0] ?? '/';
      const file = built.files.get(asked);
      if (file) return sendFile(file, request, reply);
      if (asked === '/' || (wantsPage(request) && !notOfConsole.test(asked))) return sendPage(request, reply);
      throw apiErrors.raise.route_not_found(`There is no route ${request.method} ${asked}`);
    },
  });
  return sendPage;
}

export function wantsPage(request: FastifyRequest): boolean {
  return request.headers.accept?.includes('text/html') ?? false;
}

function sendFile(file: ConsoleFile, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply
    .header('cache-control', file.isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache')
    .header('etag', file.etag)
    .header('vary', 'accept-encoding');
  if (request.headers['if-none-match'] === file.etag) return reply.code(304).send();
  reply.type(file.type);
  const accepted = String(request.headers['accept-encoding'] ?? '');
  if (file.br && /\bbr\b/.test(accepted)) return reply.header('content-encoding', 'br').send(file.br);
  if (file.gzip && /\bgzip\b/.test(accepted)) return reply.header('content-encoding', 'gzip').send(file.gzip);
  return reply.send(file.content);
}

/**
 * The page has a nonce of its own each time it is sent, for the styles that the console makes in the browser. The ETag
 * holds that nonce: a browser that keeps the page and asks again is told the policy that fits the page it has.
 */
function pageSender({ page }: ConsoleFiles): SendPage {
  const text = page ?? pageWithoutBuild;
  const digest = digestOf(text);
  return (request, reply) => {
    const known = request.headers['if-none-match'];
    const kept = known?.startsWith(`"${digest}.`) ? nonceShape.exec(known)?.[1] : undefined;
    const nonce = kept ?? randomBytes(16).toString('base64url');
    reply
      .header('cache-control', 'no-cache')
      .header('vary', 'accept')
      .header('etag', `"${digest}.${nonce}"`)
      .header('content-security-policy', consolePolicy(nonce));
    if (kept !== undefined) return reply.code(304).send();
    return reply.type('text/html; charset=utf-8').send(withNonce(text, nonce));
  };
}

/** The page says its nonce to the console's code; an own mention in the built page is replaced. */
function withNonce(text: string, nonce: string): string {
  return text
    .replace(/\s*<meta name="csp-nonce"[^>]*>/, '')
    .replace('<head>', `<head>\n    <meta name="csp-nonce" content="${nonce}">`);
}

const pageWithoutBuild = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Sluice</title>
    <link rel="stylesheet" href="/api/docs/page.css">
  </head>
  <body>
    <main>
      <h1>Sluice</h1>
      <p>The server runs, but its console is not built: run <code>npm run build</code> and start it again.</p>
      <p><a href="/api/docs">The API reference</a> works without it.</p>
    </main>
  </body>
</html>
`;
