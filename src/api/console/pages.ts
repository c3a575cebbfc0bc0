import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { publicProblems } from '../../kernel/http/replies.ts';
import type { RouteApp } from '../../kernel/http/route.ts';
import { packageDir } from '../../lib/package-dir.ts';
import { plainStyle } from './plain-style.ts';

const markdown = 'text/markdown; charset=utf-8';

/** The documents that error responses and pages link to. */
export function installPages(app: RouteApp): void {
  // Read at start: these few kilobytes do not change while the server runs, and no path comes from a request.
  const read = (file: string) => readFileSync(path.join(packageDir, file), 'utf8');
  const pages = [
    { url: '/docs/errors.md', content: read('docs/errors.md'), type: markdown },
    { url: '/docs/roles.md', content: read('docs/roles.md'), type: markdown },
    { url: '/api/docs/page.css', content: plainStyle, type: 'text/css; charset=utf-8' },
  ];
  for (const { url, content, type } of pages) {
    app.route({
      method: 'GET',
      url,
      config: { public: true },
      schema: { hide: true, response: { 200: z.string(), ...publicProblems() } },
      handler: async (_request, reply) => reply.type(type).header('cache-control', 'no-cache').send(content),
    });
  }
}
