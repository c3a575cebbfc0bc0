import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { publicProblems } from '../kernel/http/replies.ts';
import type { RouteApp } from '../kernel/http/route.ts';
import { sessionLifetimeSeconds, startSession } from '../kernel/tenancy/sessions.ts';
import type { Database } from '../lib/db.ts';
import { isSluiceError } from '../lib/errors.ts';
import { writeSessionCookie } from './cookies.ts';

const packageDir = path.join(import.meta.dirname, '../..');

const files = [
  { url: '/', file: 'console/public/index.html', type: 'text/html; charset=utf-8' },
  { url: '/assets/page.css', file: 'console/public/page.css', type: 'text/css; charset=utf-8' },
  { url: '/assets/page.js', file: 'console/public/page.js', type: 'text/javascript; charset=utf-8' },
  { url: '/docs/errors.md', file: 'docs/errors.md', type: 'text/markdown; charset=utf-8' },
  { url: '/docs/roles.md', file: 'docs/roles.md', type: 'text/markdown; charset=utf-8' },
];

/** The plain page at `/`, the documents it leads to, and the login. */
export function installPages(app: RouteApp, options: { db: Database; isHttps: boolean }): void {
  for (const { url, file, type } of files) {
    // Read at start: the few kilobytes cannot change under a running server, and no path comes from a request.
    const content = readFileSync(path.join(packageDir, file), 'utf8');
    app.route({
      method: 'GET',
      url,
      config: { public: true },
      schema: { hide: true, response: { 200: z.string(), ...publicProblems() } },
      handler: async (_request, reply) => reply.type(type).header('cache-control', 'no-cache').send(content),
    });
  }
  installLogin(app, options);
}

function installLogin(app: RouteApp, { db, isHttps }: { db: Database; isHttps: boolean }): void {
  app.route({
    method: 'GET',
    url: '/login',
    // A HEAD, as link previews send it, must not use the link up.
    exposeHeadRoute: false,
    config: { public: true },
    schema: {
      tags: ['session'],
      summary: 'Use a one-time login link',
      querystring: z.strictObject({ code: z.string().min(1).max(200) }),
      response: { 303: z.null().describe('Logged in'), ...publicProblems(401) },
    },
    handler: async (request, reply) => {
      try {
        const value = await startSession(db, request.query.code);
        const secure = isHttps || request.protocol === 'https';
        reply.header(
          'set-cookie',
          writeSessionCookie({ value, maxAgeSeconds: sessionLifetimeSeconds, secure }),
        );
        return reply.redirect('/', 303);
      } catch (error) {
        // A person gets a page that says so, a program the problem document.
        const refused = isSluiceError(error) && error.code === 'login_link_refused';
        if (refused && wantsPage(request)) return reply.redirect('/?login=refused', 303);
        throw error;
      }
    },
  });
}

function wantsPage(request: FastifyRequest): boolean {
  return request.headers.accept?.includes('text/html') ?? false;
}
