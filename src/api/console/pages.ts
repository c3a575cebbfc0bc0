import { z } from 'zod';
import { publicProblems } from '../../kernel/http/replies.ts';
import type { RouteApp } from '../../kernel/http/route.ts';
import { plainStyle } from './plain-style.ts';

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
}
