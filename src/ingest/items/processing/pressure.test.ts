import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { itemBounds } from '../../../../test/support/worlds/item-bounds.ts';
import { Pacing } from './pacing.ts';
import { PressureMeter } from './pressure.ts';

/** Nothing else runs meanwhile, as under a processor that computes for too long: for so long, and at work as long. */
function block(forMs: number): void {
  const until = performance.now() + forMs;
  const before = process.cpuUsage();
  const workedMs = () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
  while (performance.now() < until || workedMs() < forMs);
}

/** A window of the meter, in which the event loop was held up and had turns before and after. */
async function blockedWindow(): Promise<void> {
  await sleep(60);
  block(300);
  await sleep(60);
}

test('a blocked event loop, used CPU and resident memory are read from the live process', async () => {
  const rss = process.memoryUsage.rss();
  // So little that the work of the window is all of it, however long the machine keeps the process waiting.
  const meter = new PressureMeter({ cpus: 0.01, memoryLimitBytes: rss });
  await blockedWindow();
  const [seen, again] = [meter.read(), meter.read()];
  expect(seen.eventLoopLagMs).toBeGreaterThan(200);
  expect(seen.cpu).toBeGreaterThan(0.9);
  expect(seen.memory).toBeGreaterThan(0.5);
  expect(seen.memory).toBeLessThan(2);
  // Until the next window has passed the same reading stands.
  expect(again).toBe(seen);
});

test('claims shrink while the event loop is late, once per reading, and grow back', {
  timeout: 90_000,
}, async () => {
  const onThrottled = () => {};
  // So much that neither CPU nor memory can be the reason.
  const pressure = new PressureMeter({ cpus: 1_000, memoryLimitBytes: 1024 ** 4 });
  const pacing = new Pacing({ bounds: itemBounds, onThrottled, pressure });
  const slice = { items: 100, elapsedMs: 100, failures: 0 };
  for (let n = 0; n < 10; n += 1) pacing.observe('job', slice);
  expect(pacing.claimOf('job').items).toBe(1_000);
  await blockedWindow();
  pacing.observe('job', slice);
  const shrunk = pacing.claimOf('job');
  expect(shrunk).toMatchObject({ items: 500, reason: expect.stringMatching(/event loop \d+ ms late/) });
  expect(pacing.describe('job')).toMatchObject({
    claim: { items: 500, reason: shrunk.reason },
    providers: [],
  });
  pacing.observe('job', slice);
  expect(pacing.claimOf('job').items).toBe(500);
  await expect.poll(() => pacing.observe('job', slice).items, { timeout: 60_000, interval: 50 }).toBe(1_000);
});
