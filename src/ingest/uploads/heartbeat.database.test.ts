import { expect, test } from 'vitest';
import { useDatabase } from '../../../test/support/worlds/database.ts';
import { adReport, range, useUploadRuns } from '../../../test/support/worlds/upload-runs.ts';

const database = useDatabase();
const uploads = useUploadRuns(database);

/** The slice itself has a longer lease: on a busy machine, any process would lose this one. */
const leaseMs = 1_500;

test('a slice that parses 20 MB could keep a lease of 1.5 s', { timeout: 180_000 }, async () => {
  const place = await uploads.place();
  const run = await uploads.start({ leaseMs: 60_000, heartbeatMs: 300, sliceMs: 600_000 });
  // Few entities and many days, like a report of an account for a year.
  const id = (kind: number, n: number) => `1202${kind}${String(n).padStart(12, '0')}`;
  const day = (n: number) => new Date(Date.UTC(2020, 0, 1 + (n % 2_000))).toISOString().slice(0, 10);
  const name = 'A campaign with a name of the length that people give to campaigns';
  const line = (n: number) =>
    `${name} ${n % 7},${id(1, n % 7)},Set ${n % 7},${id(2, n % 7)},Ad ${n % 100},${id(3, n % 100)},` +
    `${day(n)},${n},1,1.00`;
  const content = Buffer.from(adReport(range(140_000).map(line)));
  expect(content.length).toBeGreaterThan(20 * 1024 * 1024);
  const upload = await uploads.take(place, content, { review: true });
  const beats = new Set<number>();
  let longestWorkMs = 0;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      const [row] = await database.owner<{ beat: Date | null }>(
        'select heartbeat_at as beat from ingestion_jobs where job_id = $1',
        [upload.jobId],
      );
      if (row?.beat) beats.add(row.beat.getTime());
      const before = process.cpuUsage();
      await new Promise((resolve) => setTimeout(resolve, 50));
      const { user, system } = process.cpuUsage(before);
      longestWorkMs = Math.max(longestWorkMs, (user + system) / 1_000);
    }
  })();
  await run.kernel.cycle({ budgetMs: 170_000, tenantId: place.tenantId });
  isOver = true;
  await watching;
  expect(await uploads.upload(upload)).toMatchObject({ status: 'staging_complete', total_rows: 140_000 });
  const dropped = await run.kernel.metrics.slicesDropped.get();
  expect(dropped.values).toEqual([]);
  const refused = await run.kernel.metrics.zombieWritesRefused.get();
  expect(refused.values[0]?.value ?? 0).toBe(0);
  // One claim, whose lease was renewed repeatedly, usually soon enough for the short lease.
  const [job] = await database.owner<{ epoch: number }>(
    'select lease_epoch::integer as epoch from ingestion_jobs where job_id = $1',
    [upload.jobId],
  );
  expect(job?.epoch).toBe(1);
  expect(beats.size).toBeGreaterThan(3);
  const times = [...beats].sort((a, b) => a - b);
  const gaps = times.slice(1).map((time, at) => time - (times[at] ?? 0));
  expect(gaps.sort((a, b) => a - b)[gaps.length >> 1]).toBeLessThan(leaseMs);
  // Measured in CPU time, which does not pass while the process waits to run.
  expect(longestWorkMs).toBeLessThan(leaseMs);
});
