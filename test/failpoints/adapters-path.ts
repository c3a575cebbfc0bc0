import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { ScanView } from '../support/servers/adapter-server.ts';
import { type CrashPath, differences } from './crash-run.ts';
import type { FailpointServer, FailpointServers } from './failpoint-server.ts';

export interface ScanAnswers {
  /** The adapter was scanned, and nothing was left to do. */
  isDone: true;
}

/** A dead scanner is detected soon; one slice at a time, so that runs have the same points. */
export const adapterEnv = { LEASE_MS: '1000', SLUICE_WORKER_CONCURRENCY: '1' };

const names = ['a.csv', 'b.csv', 'copy of a.csv'];
const textOf = (name: string) => (name.includes('a.csv') ? 'sku\n1\n2\n' : 'sku\n1\n2\n3\n');

/** Three files, two of them alike, are found, taken in and moved away. */
export function scanPath(servers: FailpointServers, root: string): CrashPath<ScanAnswers> {
  return {
    async prepare(tenantId, server) {
      await mkdir(path.join(root, tenantId));
      for (const name of names) await writeFile(path.join(root, tenantId, name), textOf(name));
      const answer = await server.call(tenantId, '/api/ingestion/adapters/in', {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          ...{ kind: 'folder', after: 'move', settle_seconds: 0 },
          target: { kind: 'items', processor: 'noop' },
        }),
      });
      if (answer?.status !== 201) throw new Error(`The adapter was not made: ${JSON.stringify(answer)}`);
    },
    take: scanToTheEnd,
    async check(_server, tenantId) {
      return differences(
        {
          jobs: await readJobs(servers, tenantId),
          files: await readFiles(servers, tenantId),
          left: (await readdir(path.join(root, tenantId))).sort(),
          moved: (await readdir(path.join(root, tenantId, 'done'))).sort(),
        },
        {
          jobs: [2, 3],
          files: { ingested: 2, others: 0 },
          left: ['done'],
          moved: names,
        },
      );
    },
  };
}

const maxScans = 300;

/** Waits until the lease of a dead process's scan has expired. */
async function scanToTheEnd(server: FailpointServer, tenantId: string): Promise<Partial<ScanAnswers>> {
  for (let scans = 0; scans < maxScans; scans += 1) {
    const answer = await server.call(tenantId, '/api/ingestion/scan', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ adapter: 'in' }),
    });
    if (answer === null) return {};
    const { data } = JSON.parse(answer.text) as { data: ScanView[] };
    const [report] = data;
    if (report?.busy === false && report.seen === 0) return { isDone: true };
    if (report?.busy) await pause(50);
  }
  throw new Error(`The files were not dealt with after ${maxScans} scans`);
}

async function readJobs(servers: FailpointServers, tenantId: string): Promise<number[]> {
  const rows = await servers.query(
    `select (select count(*) from job_items i where i.tenant_id = j.tenant_id and i.job_id = j.job_id) as rows
       from ingestion_jobs j
      where j.tenant_id = $1 and j.stage is distinct from 'ingesting'`,
    [tenantId],
  );
  return rows.map((row) => Number((row as { rows: string }).rows)).sort();
}

/** A move whose record was cut off leaves its row as it is, and never a file that waits or has failed. */
async function readFiles(servers: FailpointServers, tenantId: string) {
  const rows = await servers.query('select state from adapter_files where tenant_id = $1', [tenantId]);
  const states = rows.map((row) => (row as { state: string }).state);
  return {
    ingested: states.filter((state) => state === 'ingested').length,
    others: states.filter((state) => state !== 'ingested' && state !== 'duplicate').length,
  };
}
