import { mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import {
  type EmbeddedPostgres,
  joinEmbeddedPostgres,
} from '../../src/lib/postgres/embedded/embedded-postgres.ts';
import { tryStartLock } from '../../src/lib/postgres/embedded/start-lock.ts';
import { migrateUp } from '../../src/lib/postgres/migrate.ts';
import { ensureLogins, ensureRoles } from '../../src/lib/postgres/roles.ts';
import { queryOnce } from '../support/fakes/postgres-server.ts';
import { useCommandLine } from '../support/servers/command-line.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { chooseSeed, isFull } from './expect-quotas.ts';
import { mountSmallDisk, type SmallDisk, whyNoSmallDisk } from './full-disk.ts';
import { openProduct, type ProductStage } from './product-stage.ts';
import { examineProduct, untilFinished } from './product-verdict.ts';

const obstacle = whyNoSmallDisk();
if (obstacle !== null) console.log(`Left out: the full disk. ${obstacle}`);

test('the tests of a full disk can run where no test may be left out', () => {
  expect(obstacle === null || process.env.CI !== 'true').toBe(true);
});

const sluice = useCommandLine();
const rounds = isFull ? 8 : 2;
const diskBytes = 420 * 1024 * 1024;
let disk: SmallDisk | undefined;
let server: EmbeddedPostgres | undefined;
let product: ProductStage | undefined;
afterEach(async () => {
  disk?.free();
  await product?.close();
  await server?.leave();
  await disk?.close();
});

if (obstacle === null) {
  test('the lock for starting the database is released on a full disk, and no stray file is left', async () => {
    disk = await mountSmallDisk(64 * 1024);
    const { lock } = await tryStartLock(disk.dir);
    disk.fill();
    await lock?.release();
    disk.fill();
    // Without room there is no lock, and no stray file of a process that tried to get one.
    await expect(tryStartLock(disk.dir)).rejects.toThrow(/ENOSPC/);
    expect((await readdir(disk.dir)).sort()).toEqual(['ballast', 'postgres.lock.1']);
    disk.free();
    expect((await tryStartLock(disk.dir)).lock).not.toBeNull();
  });

  test('a full disk is reported as such, and everything arrives once after space is freed', {
    timeout: 15 * 60_000,
  }, async () => {
    disk = await mountSmallDisk(diskBytes);
    product = await openOnDisk(disk);
    await product.sendUpTo(0.3);
    for (let round = 1; round <= rounds; round += 1) {
      const takenBytes = disk.fill();
      // By turns what is stored as a file first, and what goes into the database at once.
      const sending = [
        product.sendExtra(round % 2 === 1 ? 'uploads' : 'items'),
        product.sendUpTo(0.3 + (0.4 * round) / rounds),
      ];
      await untilRefused(product, disk);
      if (isFull && round === 2) await keepFull(disk, 60_000);
      disk.free();
      await Promise.all(sending);
      console.log(
        `round ${round}: ${takenBytes} bytes taken away; ${JSON.stringify(product.refusals.at(-1))}`,
      );
    }
    await product.sendUpTo(1);
    await untilFinished(product.database, product.replaceDead);
    const findings = await examineProduct(product);
    console.log(JSON.stringify({ ...findings, breaches: findings.breaches.length }));
    expect(findings.breaches.slice(0, 20)).toEqual([]);
    // A request whose failure could not be noted either keeps its key for half a minute: its retry is told to wait.
    const refusals = product.refusals.filter(({ body }) => body.code !== 'idempotency_in_flight');
    expect(refusals.length).toBeGreaterThanOrEqual(rounds);
    for (const refusal of refusals)
      expect(JSON.stringify(refusal)).toMatch(
        /^\{"status":503,.*(No space left on device|cannot be reached)/i,
      );
    expect(product.server.running.child.exitCode).toBeNull();
  });
}

/** The embedded database, the stored files and the secrets: all that an installation writes is on the small disk. */
async function openOnDisk({ dir }: SmallDisk): Promise<ProductStage> {
  const dataDir = path.join(dir, 'installation');
  await mkdir(dataDir);
  server = await joinEmbeddedPostgres({ dataDir });
  const { ownerUrl } = server;
  await ensureRoles(ownerUrl);
  await migrateUp(ownerUrl);
  await ensureLogins(ownerUrl);
  return openProduct({
    ...{ sluice, seed: chooseSeed(), leaseMs: 1_500 },
    database: {
      ownerUrl,
      owner: <Row extends object>(text: string, values: unknown[] = []) =>
        queryOnce<Row & Record<string, unknown>>(ownerUrl, text, values),
    },
    quota: {
      workers: 2,
      items: {
        noop: { jobs: 2, rows: 1_000 },
        validate: { jobs: 1, rows: 500 },
        http: { jobs: 2, rows: 100 },
      },
      reports: 10,
      reportRows: 3_000,
    },
    // Empty counts as not set: the processes join the embedded database by themselves.
    envOf: () => ({ DATABASE_URL: '', SLUICE_DATA_DIR: dataDir }),
  });
}

/** Longer than any limit for starting a database would be, if there were one. */
async function keepFull({ fill }: SmallDisk, forMs: number): Promise<void> {
  const untilMs = Date.now() + forMs;
  while (Date.now() < untilMs) {
    fill();
    await pause(50);
  }
}

const refusalsPerRound = 3;

/** Keeps the disk full, even when PostgreSQL frees space, until requests are refused because of it. */
async function untilRefused({ refusals }: ProductStage, { fill }: SmallDisk): Promise<void> {
  const before = refusals.length;
  await eventually(
    async () => {
      fill();
      await pause(50);
      return refusals.length >= before + refusalsPerRound;
    },
    'requests are refused while the disk is full',
    60_000,
  );
}
