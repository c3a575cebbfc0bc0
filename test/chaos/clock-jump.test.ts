import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { useCommandLine } from '../support/servers/command-line.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { chooseSeed, isFull } from './expect-quotas.ts';
import type { ItemWorker } from './items-stage.ts';
import { openProduct, type ProductStage } from './product-stage.ts';
import { examineProduct, untilFinished } from './product-verdict.ts';
import { seededRandom } from './seeded-random.ts';

// The clocks of the product's processes jump. PostgreSQL's cannot be made to jump here: it decides about leases and
// due times, and a database whose own clock goes backwards is beyond what a client of it can mend.
const sluice = useCommandLine();
const database = useDatabase();
const jumps = isFull ? 120 : 12;
let product: ProductStage | undefined;
afterEach(() => product?.close());

test('clocks that jump by an hour, forwards and back, cost no lease and no row’s position', {
  timeout: 15 * 60_000,
}, async () => {
  const seed = chooseSeed();
  product = await openProduct({
    // Long enough that a busy machine costs no lease, and far shorter than a jump.
    ...{ sluice, database, seed, leaseMs: 20_000 },
    quota: {
      workers: 3,
      items: { noop: { jobs: 2, rows: 500 }, validate: { jobs: 1, rows: 500 }, http: { jobs: 4, rows: 150 } },
      reports: isFull ? 60 : 8,
      reportRows: 3_000,
    },
    envOf: () => ({
      NODE_OPTIONS: `--import ${pathToFileURL(path.join(import.meta.dirname, 'clock-preload.mjs')).href}`,
    }),
  });
  const { workers, server } = product;
  await eventually(async () => workers.every(({ workerId }) => workerId !== null), 'all workers run', 60_000);
  const told = (running: ItemWorker['running']) => running.stderr().split('the clock is').length - 1;
  const random = seededRandom(seed);
  for (let jump = 0; jump < jumps; jump += 1) {
    await product.sendUpTo((jump + 1) / jumps);
    // All of them in turn, so that they disagree with one another most of the time.
    const { running } = [...workers, server][jump % (workers.length + 1)] ?? server;
    const before = told(running);
    running.child.kill('SIGUSR2');
    await eventually(async () => told(running) > before, 'the clock has jumped');
    if (random.below(3) === 0) await product.sendExtra('uploads');
  }
  await untilFinished(database, product.replaceDead);
  const findings = await examineProduct(product);
  console.log(`${jumps} jumps; ${JSON.stringify({ ...findings, breaches: findings.breaches.length })}`);
  expect(findings.breaches.slice(0, 20)).toEqual([]);
  expect(await database.owner(`select data from events where type = 'job.rescued'`)).toEqual([]);
  expect([...workers, server].map(({ running }) => running.child.exitCode)).toEqual([null, null, null, null]);
  for (const { running } of [...workers, server]) {
    expect(told(running)).toBeGreaterThanOrEqual(Math.floor(jumps / 4));
    expect(running.stderr()).toMatch(/the clock is 3600000 ms away.*the clock is -3600000 ms away/s);
  }
});
