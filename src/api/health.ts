import { z } from 'zod';
import { publicProblems } from '../kernel/http/replies.ts';
import type { RouteApp } from '../kernel/http/route.ts';

export interface ReadyReport {
  ready: boolean;
  /** By name: database, migrations, storage. Public, so a detail names no host, login or path. */
  checks: Record<string, { state: 'ok' | 'failed'; detail?: string }>;
}

const liveReply = z.object({ status: z.literal('ok'), version: z.string() });
const readyReply = z
  .object({
    status: z.enum(['ready', 'not_ready']),
    checks: z.record(
      z.string(),
      z.object({ state: z.enum(['ok', 'failed']), detail: z.string().optional() }),
    ),
  })
  .meta({ id: 'Readiness' });

/** Probes: `live` says that the process responds, `ready` that it can do its work. */
export function installHealth(
  app: RouteApp,
  { version, isReady }: { version: string; isReady: () => Promise<ReadyReport> },
): void {
  app.route({
    method: 'GET',
    url: '/health/live',
    config: { public: true, unlimited: true },
    schema: {
      tags: ['operations'],
      summary: 'Whether the process responds',
      response: { 200: liveReply, ...publicProblems() },
    },
    handler: async () => ({ status: 'ok' as const, version }),
  });
  app.route({
    method: 'GET',
    url: '/health/ready',
    config: { public: true, unlimited: true },
    schema: {
      tags: ['operations'],
      summary: 'Whether database, migrations and storage are usable',
      response: { ...publicProblems(), 200: readyReply, 503: readyReply },
    },
    handler: async (_request, reply) => {
      const report = await isReady();
      return reply
        .code(report.ready ? 200 : 503)
        .send({ status: report.ready ? 'ready' : 'not_ready', checks: report.checks });
    },
  });
}
