import { appendFileSync } from 'node:fs';
import { link, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pino from 'pino';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { readingOf } from '../../../../test/support/probes/statement-reading.ts';
import { visibleJobs } from '../../../../test/support/servers/adapter-server.ts';
import { testDoors } from '../../../../test/support/worlds/adapter-house.ts';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { useKernel } from '../../../../test/support/worlds/kernel.ts';
import { noSecrets } from '../../../../test/support/worlds/secrets.ts';
import type { IncomingFile } from '../../../kernel/house/doors.ts';
import { createGuardedFetch } from '../../../lib/fetch/guarded-fetch.ts';
import { listEnded, listFiles } from '../files/store.ts';
import { AdapterMetrics } from '../metrics.ts';
import { putAdapter } from '../store.ts';
import type { Adapter, Target, TargetDoors } from '../types.ts';
import { type ScanDeps, scanAdapter } from './scan.ts';

// Rare races, forced at the right moment: something else happens while a file is being ingested.
const database = useDatabase();
const held = useKernel(database);
const registry = new Registry();
const adapterMetrics = new AdapterMetrics(registry);
const fetch = createGuardedFetch({ blockPrivateAddresses: true, userAgent: 'Sluice/test' });
let root: string;
let tenantId: string;
let adapter: Adapter;

beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'sluice-scan-'));
});
afterAll(async () => {
  await fetch.close();
  await rm(root, { recursive: true, force: true });
});
beforeEach(async () => {
  tenantId = await newTenant(database);
  await mkdir(path.join(root, tenantId));
  adapter = await database.db.tenant(tenantId, (tx) =>
    putAdapter(tx, {
      ...{ tenantId, name: 'in', place: { kind: 'folder', path: '' }, pattern: null, everyMinutes: null },
      ...{ target: { kind: 'items', processor: 'noop', options: {} }, after: 'leave', settleSeconds: 0 },
      createdBy: 'keeper',
    }),
  );
});

const fileAt = (name: string) => path.join(root, tenantId, name);
const drop = (name: string, text = 'sku\n1\n2\n') => writeFile(fileAt(name), text);

/** The real target doors; `stepIn` runs just before a file is handed over. */
function depsWith(stepIn: (delivery: IncomingFile<Target>) => Promise<void> = async () => {}): ScanDeps {
  const doors = testDoors(database.db, held.kernel);
  const watched: TargetDoors = {
    ...doors,
    items: {
      ...doors.items,
      takeIn: async (delivery) => {
        await stepIn(delivery);
        await doors.items.takeIn(delivery);
      },
    },
  };
  return {
    ...{ db: database.db, logger: pino({ level: 'silent' }), doors: watched, adapterMetrics, fetch },
    ...{ leaseMs: 30_000, workerId: 'a worker', adapterFolder: root, blockPrivateAddresses: true },
    secrets: noSecrets,
  };
}

const scan = (deps: ScanDeps) => scanAdapter(deps, adapter, { budgetMs: 60_000 });
const files = () =>
  database.db.tenant(tenantId, (tx) => listFiles(tx, { tenantId, name: 'in', after: null, limit: 100 }));

test('a scan that loses its lease while it ingests a file leaves no job behind', async () => {
  await drop('a.csv');
  const report = await scan(
    depsWith(async () => {
      await database.owner('update adapters set scan_token = gen_random_uuid() where tenant_id = $1', [
        tenantId,
      ]);
    }),
  );
  expect(report).toMatchObject({ ingested: 0, errorCode: 'adapter_scan_lost' });
  expect(await visibleJobs(database, tenantId)).toEqual([]);
  expect(await files()).toMatchObject([{ state: 'waiting', jobId: null }]);
});

test('one of two files with the same content at once creates the job, and the other is a duplicate', async () => {
  await drop('a.csv');
  let first: IncomingFile<Target> | undefined;
  const report = await scan(
    depsWith(async (delivery) => {
      first = delivery;
      // The other file commits while this one is still being read.
      await database.owner(
        `insert into adapter_files
           (tenant_id, file_id, adapter, path, size_bytes, version, state, sha256, job_id, finished_at)
         select tenant_id, gen_random_uuid(), 'in', 'twin.csv', size_bytes, version, 'ingested',
                encode(sha256($2::bytea), 'hex'), gen_random_uuid(), now()
           from adapter_files where tenant_id = $1`,
        [tenantId, Buffer.from('sku\n1\n2\n')],
      );
    }),
  );
  expect(first?.fileName).toBe('a.csv');
  expect(report).toMatchObject({ ingested: 0, duplicates: 1, error: null });
  expect(await visibleJobs(database, tenantId)).toEqual([]);
  const rows = await files();
  const [twin, copy] = ['twin.csv', 'a.csv'].map((name) => rows.find((row) => row.path === name));
  expect(copy).toMatchObject({ state: 'duplicate', duplicateOf: twin?.fileId, jobId: twin?.jobId });
});

test('a file that grows while it is read is not ingested; the next scan ingests it whole', async () => {
  await drop('a.csv', 'sku\n1\n');
  let asked = 0;
  const deps = depsWith();
  const growing: ScanDeps = {
    ...deps,
    doors: {
      ...deps.doors,
      items: {
        ...deps.doors.items,
        // Called right before the file is read.
        get maxBytes() {
          asked += 1;
          appendFileSync(fileAt('a.csv'), '9\n');
          return deps.doors.items.maxBytes;
        },
      },
    },
  };
  const first = await scan(growing);
  expect(asked).toBe(1);
  expect(first).toMatchObject({ ingested: 0, waiting: 1, error: null });
  expect(first.files[0]?.reason).toContain('changed while it was being read');
  expect(await visibleJobs(database, tenantId)).toEqual([]);
  expect(await scan(deps)).toMatchObject({ ingested: 1 });
  expect(await visibleJobs(database, tenantId)).toEqual([2]);
});

test('a file that fails for an unknown reason does not stop the others, and is given up in the end', async () => {
  await drop('a.csv', 'sku\n1\n');
  await drop('b.csv', 'sku\n2\n');
  const deps = depsWith(async ({ fileName }) => {
    if (fileName === 'a.csv') throw new TypeError('an unexpected mistake');
  });
  expect(await scan(deps)).toMatchObject({ ingested: 1, waiting: 1, error: null });
  for (let again = 0; again < 9; again += 1) await scan(deps);
  expect(await scan(deps)).toMatchObject({ failed: 1 });
  const failed = (await files()).find(({ path: name }) => name === 'a.csv');
  expect(failed).toMatchObject({ state: 'failed', reasonCode: 'adapter_file_gave_up' });
  expect(failed?.reason).toContain('an unexpected mistake');
});

test('a file that replaces another while that is ingested is not moved away unread', async () => {
  adapter = { ...adapter, after: 'move' };
  await drop('a.csv', 'sku\n1\n');
  const replacing = depsWith(() => drop('a.csv', 'sku\n1\n2\n3\n'));
  const first = await scan(replacing);
  expect(first).toMatchObject({ ingested: 1, moved: 0, error: null });
  expect(first.files.at(-1)).toMatchObject({ path: 'a.csv', outcome: 'not_moved' });
  expect(await scan(depsWith())).toMatchObject({ ingested: 1, moved: 1 });
  expect(await visibleJobs(database, tenantId)).toEqual([1, 3]);
  expect(await readdir(fileAt(''))).toEqual(['done']);
});

test('processed files that stay in place do not keep a scan from the others, however many there are', async () => {
  await drop('0.csv');
  const others = Array.from({ length: 20_000 }, (_, at) => `${at + 1}.csv`);
  await Promise.all(others.map((name) => link(fileAt('0.csv'), fileAt(name))));
  // All names are links to one file, so they have the same version.
  const { mtimeNs, ino } = await stat(fileAt('0.csv'), { bigint: true });
  await database.owner(
    `insert into adapter_files (tenant_id, file_id, adapter, path, size_bytes, version, state, finished_at)
     select $1, gen_random_uuid(), 'in', at || '.csv', 8, $2, 'duplicate', now() from generate_series(0, 20000) at`,
    [tenantId, `${mtimeNs}-${ino}`],
  );
  for (const letter of 'abcdefgh') await drop(`${letter}.csv`, `sku\n${letter}\n`);
  expect(await scan(depsWith())).toMatchObject({ seen: 20_009, ingested: 8, isComplete: true, error: null });
}, 120_000);

test('looking up a batch reads no record twice, even without statistics on the table', async () => {
  await database.owner('alter table adapter_files set (autovacuum_enabled = false)');
  await database.owner(
    `insert into adapter_files (tenant_id, file_id, adapter, path, size_bytes, version, state, finished_at)
     select $1, gen_random_uuid(), 'in', at || '.csv', 8, 'v', 'duplicate', now() from generate_series(1, 5000) at`,
    [tenantId],
  );
  const batch = Array.from({ length: 500 }, (_, at) => ({
    ...{ path: `${at + 1}.csv`, sizeBytes: 8, version: 'v', modifiedAt: null },
  }));
  const { rows } = await readingOf(database.db, {
    context: { role: 'sluice_tenant', tenantId },
    work: (tx) => listEnded(tx, { tenantId, name: 'in', files: batch }),
  });
  expect(rows).toBeLessThanOrEqual(5_000);
});

test('a second scan of an adapter that is being scanned does nothing, and names the running one', async () => {
  await drop('a.csv');
  let second: Awaited<ReturnType<typeof scan>> | undefined;
  const deps = depsWith(async () => {
    const busy = { ...adapter, scanningBy: 'a worker' };
    second = await scanAdapter(depsWith(), busy, { budgetMs: 60_000 });
  });
  expect(await scan(deps)).toMatchObject({ ingested: 1, isBusy: false });
  expect(second).toMatchObject({ isBusy: true, scanningBy: 'a worker', ingested: 0 });
});

test('a file that is larger than allowed fails with the limit in its reason', async () => {
  await drop('a.csv');
  const deps = depsWith();
  const items = { ...deps.doors.items, maxBytes: 5 };
  const report = await scan({ ...deps, doors: { ...deps.doors, items } });
  expect(report).toMatchObject({ failed: 1 });
  expect(report.files[0]?.reason).toContain('more than 5 bytes');
});

test('the metrics count scans and files', async () => {
  const count = async (name: string) => {
    const metric = await registry.getSingleMetric(name)?.get();
    return metric?.values.reduce((sum, { value }) => sum + value, 0) ?? 0;
  };
  const before = [await count('sluice_adapter_files_total'), await count('sluice_adapter_scan_seconds')];
  await drop('a.csv');
  await scan(depsWith());
  expect(await count('sluice_adapter_files_total')).toBe((before[0] ?? 0) + 1);
  expect(await count('sluice_adapter_scan_seconds')).toBeGreaterThan(before[1] ?? 0);
});
