import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { publicProblems } from '../../kernel/http/replies.ts';
import type { RouteApp } from '../../kernel/http/route.ts';
import { packageDir } from '../../lib/package-dir.ts';
import {
  type DocPage,
  readDocPages,
  renderDocIndex,
  renderDocPage,
  renderLlmsFullTxt,
  renderLlmsTxt,
} from './doc-pages.ts';

const directory = path.join(packageDir, 'docs');
const html = 'text/html; charset=utf-8';
const markdown = 'text/markdown; charset=utf-8';
const plain = 'text/plain; charset=utf-8';
const pictureTypes: Record<string, string> = { '.svg': 'image/svg+xml', '.png': 'image/png' };

/** docs/ as a site: a browser gets pages, everything else the Markdown. Public: it says nothing of the installation. */
export function installDocRoutes(app: RouteApp): void {
  // Listed at start, and no path comes from a request. A page is rendered when somebody first reads it.
  const pages = existsSync(directory) ? readDocPages(directory) : [];
  const rendered = new Map<string, string>();
  const once = (key: string, render: () => string) => {
    const known = rendered.get(key) ?? render();
    rendered.set(key, known);
    return known;
  };
  const serve = (url: string, send: (request: FastifyRequest, reply: FastifyReply) => FastifyReply) =>
    app.route({
      method: 'GET',
      url,
      config: { public: true },
      schema: { hide: true, response: { 200: z.string(), ...publicProblems() } },
      handler: async (request, reply) => send(request, reply.header('cache-control', 'no-cache')),
    });
  serve('/docs', (_, reply) => reply.type(html).send(once('/docs', () => renderDocIndex(pages))));
  serve('/llms.txt', (_, reply) => reply.type(plain).send(once('/llms.txt', () => renderLlmsTxt(pages))));
  serve('/llms-full.txt', (_, reply) =>
    reply.type(plain).send(once('/llms-full.txt', () => renderLlmsFullTxt(pages))),
  );
  for (const page of pages) {
    serve(`/docs/${page.name}`, (request, reply) => sendPage(request, reply, { page, pages, once }));
  }
  for (const { name, type } of listPictures()) {
    serve(`/docs/${name}`, (_, reply) => reply.type(type).send(readFileSync(path.join(directory, name))));
  }
}

function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  { page, pages, once }: { page: DocPage; pages: DocPage[]; once(key: string, render: () => string): string },
): FastifyReply {
  reply.header('vary', 'accept');
  const wantsHtml = (request.headers.accept ?? '').includes('text/html');
  if (!wantsHtml) return reply.type(markdown).send(page.text);
  return reply.type(html).send(once(page.name, () => renderDocPage(page, pages)));
}

function listPictures(): { name: string; type: string }[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).flatMap((file) => {
    const type = pictureTypes[path.extname(file)];
    return type === undefined ? [] : [{ name: file.replaceAll('\\', '/'), type }];
  });
}
