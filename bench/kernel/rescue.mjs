// kill -9 of a worker → its job running in another process, with the product's default lease of 10 s.
// node bench/kernel/rescue.mjs [kills]
import { openFleet } from './bench-fleet.mjs';
import { dispatchTo, openKernel } from './bench-kernel.mjs';
import { msBetween, numbersFromArguments, percentiles, writeReport } from './bench-report.mjs';
import { query, startBenchServer } from './bench-server.mjs';

const [kills] = numbersFromArguments([30]);
const tenantId = 'tenant-1';

const server = await startBenchServer();
const fleet = openFleet({ appUrl: server.appUrl, holdFirst: true });
try {
  await query(server.ownerUrl, 'insert into tenants (tenant_id, name) values ($1, $1)', [tenantId]);
  const { kernel, close } = await openKernel({ appUrl: server.appUrl });
  await fleet.start();
  await fleet.start();
  const timesMs = [];
  for (let kill = 0; kill < kills; kill += 1) timesMs.push(await measureOneKill(kernel));
  await close();
  const causes = await readCauses();
  const rows = [{ rescued_by: causes.join(' and '), ...percentiles(timesMs) }];
  await writeReport({ name: 'kernel-rescue', postgres: server.version, rows });
} finally {
  await fleet.close();
  await server.stop();
}

async function measureOneKill(kernel) {
  const subjectId = crypto.randomUUID();
  const begins = fleet.nextBegin(subjectId);
  await dispatchTo(kernel, { tenantId, subjectId });
  const { child } = await begins;
  const beginsElsewhere = fleet.nextBegin(subjectId);
  const fromNs = fleet.kill(child);
  const { atNs } = await beginsElsewhere;
  await fleet.start();
  return msBetween(fromNs, atNs);
}

async function readCauses() {
  const rows = await query(
    server.ownerUrl,
    `select data ->> 'cause' as cause, count(*)::int as count from events where type = 'job.rescued' group by 1`,
  );
  const rescued = rows.reduce((sum, { count }) => sum + count, 0);
  if (rescued < kills) throw new Error(`${kills} workers were killed, but only ${rescued} jobs rescued`);
  return rows.map(({ cause }) => cause);
}
