import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { publicProblems } from '../../kernel/http/replies.ts';
import type { RouteApp } from '../../kernel/http/route.ts';
import { packageDir } from '../../lib/package-dir.ts';
import { plainStyle } from './plain-style.ts';

const typeface = path.join(packageDir, 'assets/fonts/inter-latin.woff2');
/** A day: the typeface changes with a release at most. */
const keptSeconds = 86_400;

/** What the pages that the server writes itself need beside their text. */
export function installPages(app: RouteApp): void {
  app.route({
    method: 'GET',
    url: '/api/docs/page.css',
    config: { public: true },
    schema: { hide: true, response: { 200: z.string(), ...publicProblems() } },
    handler: async (_request, reply) =>
      reply.type('text/css; charset=utf-8').header('cache-control', 'no-cache').send(plainStyle),
  });
  const bytes = readFileSync(typeface);
  app.route({
    method: 'GET',
    url: '/api/docs/inter.woff2',
    config: { public: true },
    schema: { hide: true, response: { 200: z.unknown(), ...publicProblems() } },
    handler: async (_request, reply) =>
      reply.type('font/woff2').header('cache-control', `public, max-age=${keptSeconds}`).send(bytes),
  });
}
