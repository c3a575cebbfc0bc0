import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { useCommandLine } from '../support/servers/command-line.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { chooseSeed, isFull } from './expect-quotas.ts';
import { installationEnv, startWorker } from './items-stage.ts';
import { makeNextVersion, type NextVersion } from './next-version.ts';
import { openProduct, type ProductStage } from './product-stage.ts';
import { examineProduct, untilFinished } from './product-verdict.ts';

const oldSluice = useCommandLine();
const database = useDatabase();
let next: NextVersion | undefined;
let product: ProductStage | undefined;
beforeAll(async () => {
  next = await makeNextVersion({ up: expand, down: contract });
});
afterEach(() => product?.close());
afterAll(() => next?.remove());

/** Long enough that a busy machine costs no lease. */
const leaseMs = 20_000;

/** What a next version would do first: only add, and nothing that the version before trips over. */
const expand = `
alter table ingestion_jobs add column next_note text;
alter table job_items add column next_note text;
alter table data_uploads add column next_note text not null default '';
create index next_note_of_jobs on ingestion_jobs (tenant_id, next_note) where next_note is not null;
create table next_things (tenant_id text not null references tenants on delete cascade, note text not null);
select guard_tenant_table('next_things');
`;
const contract = `
drop table next_things;
alter table data_uploads drop column next_note;
alter table job_items drop column next_note;
alter table ingestion_jobs drop column next_note;
`;

test('the schema is upgraded under a running old version: it continues, the new one joins, and nothing is lost', {
  timeout: 15 * 60_000,
}, async () => {
  const newSluice = next as NextVersion;
  const { version } = newSluice;
  product = await openProduct({
    ...{ sluice: oldSluice, database, seed: chooseSeed(), leaseMs },
    quota: {
      workers: 2,
      items: {
        noop: { jobs: 2, rows: 1_000 },
        validate: { jobs: 1, rows: 500 },
        http: { jobs: 4, rows: 200 },
      },
      reports: isFull ? 60 : 12,
      reportRows: 4_000,
    },
    envOf: () => ({}),
  });
  const { workers, server } = product;
  await eventually(async () => workers.every(({ workerId }) => workerId !== null), 'all workers run', 60_000);
  const sending = sendEverything(product);
  await eventually(async () => (await countBusy()) > 0, 'the old version is at work', 60_000);

  const env = installationEnv(database, { leaseMs });
  const migrated = await newSluice.run(['migrate', 'up', '--json'], env);
  expect(migrated, migrated.stderr).toMatchObject({ code: 0 });
  expect(JSON.parse(migrated.stdout)).toMatchObject({ version });

  // A running process continues; a starting one must know the schema and says what it needs.
  const late = await oldSluice.run(['worker'], { ...env, SLUICE_AUTO_MIGRATE: 'false' });
  expect(late.code).not.toBe(0);
  expect(late.stderr).toContain(
    `The database has migration ${version}, this version of Sluice knows up to ${version - 1}`,
  );
  const newWorker = startWorker(newSluice, { ...env, SLUICE_DATA_DIR: path.join(oldSluice.cwd, '.sluice') });
  await eventually(async () => newWorker.workerId !== null, 'a worker of the new version runs', 60_000);
  await sending;
  // From here on the new version has to do it alone.
  for (const { running } of workers) running.child.kill('SIGTERM');
  for (const { running } of workers) expect((await running.ended).code).toBe(0);
  for (let number = 0; number < 4; number += 1) await product.sendExtra('uploads');
  await untilFinished(database);
  const findings = await examineProduct(product);
  console.log(JSON.stringify({ ...findings, breaches: findings.breaches.length }));
  expect(findings.breaches.slice(0, 20)).toEqual([]);
  expect(server.running.child.exitCode).toBeNull();
  expect(newWorker.isLiving).toBe(true);
});

/** In steps, so that there is work before, during and after the migration. */
async function sendEverything({ sendUpTo }: ProductStage): Promise<void> {
  for (let step = 1; step <= 20; step += 1) await sendUpTo(step / 20);
}

async function countBusy(): Promise<number> {
  const rows = await database.owner(
    `select 1 from ingestion_jobs where leased_by is not null or (pipeline = 'items' and status = 'running')`,
  );
  return rows.length;
}
