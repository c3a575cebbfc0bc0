import { expect, test } from 'vitest';
import { useServerProcess } from '../support/servers/server-process.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { longestRowBlockMs, useBlockingProbe } from './blocking.ts';

const blocking = useBlockingProbe();
const database = useDatabase();
const server = useServerProcess(database, blocking.env);

const columns = Array.from({ length: 150 }, (_, at) => `c${at}`);
/** The x keeps engines from giving up before they start; the last digit keeps the patterns from matching. */
const digits = `${'7'.repeat(1_990)}x7`;
const file = [columns.join(','), ...Array.from({ length: 20 }, () => columns.map(() => digits).join(','))];
/** Each of them makes a backtracking engine try every way to divide the digits. */
const hostile = ['^\\d*\\d*\\d*x$', '^(\\d|\\d\\d)*x$', '\\d*7\\d{90}x$', '^(?:\\d{1,15}){1,30}x$'];

test.each(hostile)(
  '150 rules %s on 20 rows do not block the main thread, and all rows end',
  {
    timeout: 300_000,
  },
  async (pattern) => {
    const tenantId = await newTenant(database);
    const headers = await server.bearer({ tenantId });
    const form = new FormData();
    form.set('processor', 'validate');
    form.set('options', JSON.stringify({ rules: columns.map((column) => ({ column, pattern })) }));
    form.set('file', new Blob([file.join('\n')], { type: 'text/csv' }), 'digits.csv');
    let job = { queueState: '', counts: {} as Record<string, number> };
    const blocks = await blocking.during(pattern, async () => {
      const made = await fetch(`${server.url}/api/jobs`, { method: 'POST', headers, body: form });
      expect(made.status, await made.clone().text()).toBe(201);
      const { jobId } = (await made.json()) as { jobId: string };
      const isOver = async () => {
        job = (await (await fetch(`${server.url}/api/jobs/${jobId}`, { headers })).json()) as typeof job;
        return job.queueState === 'DONE';
      };
      await eventually(isOver, 'all rows have ended', 120_000);
    });
    expect(job.counts).toMatchObject({ ERROR: 20, PENDING: 0, PROCESSING: 0 });
    expect(blocks[0] ?? 0).toBeLessThanOrEqual(longestRowBlockMs);
  },
);
