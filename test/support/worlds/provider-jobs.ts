import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, onTestFinished } from 'vitest';
import {
  type ProductCall,
  type ProductReply,
  type RuledProvider,
  startRuledProvider,
} from '../../chaos/items-provider.ts';
import { type ItemServer, installationEnv, startServer } from '../../chaos/items-stage.ts';
import { useCommandLine } from '../servers/command-line.ts';
import { newTenant, type TestDatabase } from './database.ts';
import { eventually } from './kernel.ts';

interface Asked {
  provider: RuledProvider;
  tenantId: string;
  jobId: string;
}

/** The built server with its worker, against a provider over real HTTP. */
export function useProviderJobs(database: TestDatabase) {
  const sluice = useCommandLine();
  let server: ItemServer | undefined;
  afterEach(() => {
    server?.running.child.kill('SIGKILL');
  });

  function journeyEnv(more: Record<string, string> = {}): Record<string, string> {
    return {
      ...installationEnv(database, { leaseMs: 30_000 }),
      SLUICE_WORKER: 'true',
      MAX_ATTEMPTS_ERROR: '3',
      MAX_ATTEMPTS_NOT_FOUND: '2',
      ...more,
    };
  }

  /** A job of a new tenant that calls a new provider for these products. */
  async function askProvider(
    skus: string[],
    rule: (call: ProductCall) => ProductReply,
    { timeoutMs = 60_000, strategies = [] as string[], env = {} } = {},
  ): Promise<Asked> {
    const provider = await startRuledProvider(rule);
    onTestFinished(() => provider.close());
    server = await startServer(sluice, journeyEnv(env));
    const tenantId = await newTenant(database);
    const urlOf = (variant: string) => `${provider.url}/${variant}/{{sku}}`;
    const { status, body } = await server.upload(tenantId, {
      name: 'products',
      processor: 'http',
      options: {
        request: { url: urlOf('only') },
        strategies: strategies.map((name) => ({ name, url: urlOf(name) })),
        timeoutMs,
      },
      csv: `sku\n${skus.join('\n')}\n`,
    });
    expect(status).toBe(201);
    return { provider, tenantId, jobId: String(body.jobId) };
  }

  async function call(tenantId: string, method: string, path: string) {
    if (!server) throw new Error('There is no server before a test has started one');
    return server.call(tenantId, method, path);
  }

  return {
    askProvider,
    call,
    untilDone: (jobId: string, deadlineMs: number) => untilDone(database, jobId, deadlineMs),
    endsOf: (jobId: string) => endsOf(database, jobId),
  };
}

export function skusOf(kind: string, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${kind}-${n}`);
}

/** Rows not found wait for minutes: they are brought forward, so that the test need not wait. */
async function untilDone(database: TestDatabase, jobId: string, deadlineMs: number): Promise<void> {
  await eventually(
    async () => {
      await database.owner(
        `update job_items set due_at = '-infinity'
          where job_id = $1 and status = 'PENDING' and due_at > clock_timestamp() + interval '60 s'`,
        [jobId],
      );
      await pause(100);
      const rows = await database.owner<{ status: string }>(
        'select status from ingestion_jobs where job_id = $1',
        [jobId],
      );
      return rows[0]?.status === 'success';
    },
    `job ${jobId} is DONE`,
    deadlineMs,
  );
}

function endsOf(database: TestDatabase, jobId: string): Promise<object[]> {
  return database.owner(
    `select status, error_code as code, attempts, count(*)::int as rows
       from job_items
      where job_id = $1
      group by status, error_code, attempts
      order by status, error_code, attempts`,
    [jobId],
  );
}
