import { setTimeout as pause } from 'node:timers/promises';
import { startAirbyte } from '../harness/airbyte.mjs';
import { until } from '../harness/children.mjs';
import { format, percentile } from '../harness/figures.mjs';
import { startServe, startWorkers, tenantId } from '../harness/sluice.mjs';

const label = 'Sluice';
const workers = 2;
/** 500 connectors in five minutes. */
const apartMs = 600;
/** The scheduler looks for connectors that are due this often. */
const scheduleMs = 5_000;
/** Beyond the next look of the scheduler, a trigger is late. */
const lateMs = 2_000;

export const bench = {
  name: 'syncs',
  title: 'Scheduled syncs are triggered on time',
  about: `
Connectors of one tenant that come due one after the other, ${apartMs / 1000} s apart: 500 in five minutes. A server and ${workers}
worker processes with default settings, and a local stand-in for Airbyte whose clock and ledger are the judge: a run
takes two seconds. The scheduler looks every ${scheduleMs / 1000} s, so that a trigger comes up to ${scheduleMs / 1000} s after its time; late is
what comes more than ${lateMs / 1000} s after that. A process sends at most AIRBYTE_REQUESTS_PER_SECOND (20) requests, which nothing
here has to wait for. Each connector has to be triggered exactly once, and each sync has to succeed.`,
  size: 500,
  // A round takes more than five minutes, and has 500 triggers.
  rounds: 1,
  metrics: [
    { key: 'p50', title: 'p50 s after its time', better: 'less' },
    { key: 'p99', title: 'p99 s after its time', better: 'less' },
    { key: 'max', title: 'max s after its time', better: 'less' },
    { key: 'late', title: 'late triggers', better: 'less' },
  ],
  async open({ server, size }) {
    return { contenders: [{ label, measure: () => measure(server, size) }] };
  },
  targets: [
    {
      text: 'no trigger is late',
      judge(figureOf) {
        const late = figureOf(label, 'late');
        return { reached: late === 0, figure: `${format(late)} late` };
      },
    },
  ],
};

async function measure(server, size) {
  const database = await server.sluiceDatabase();
  const airbyte = await startAirbyte();
  // The accounts' own limit is another one: each connector has an account of its own.
  const serve = await startServe({ database, settings: airbyte.settings });
  const fleet = await startWorkers(workers, { database, settings: airbyte.settings });
  try {
    const due = await insertConnectors(database, size);
    await pause(size * apartMs);
    await until('every connector was triggered', () => airbyte.triggers().length >= size);
    await until('every sync has succeeded', async () => (await countSucceeded(database)) === size);
    return figuresOf(airbyte.triggers(), due);
  } finally {
    await fleet.stop();
    await serve.stop();
    await airbyte.stop();
    await database.drop();
  }
}

/** Returns when each is due, by its connection, on the clock that the triggers are read from. */
async function insertConnectors(database, size) {
  await database.query(
    `insert into tenants (tenant_id, name, plan) values ($1, $1, 'enterprise')
     on conflict (tenant_id) do update set plan = 'enterprise'`,
    [tenantId],
  );
  const rows = await database.query(
    `insert into connectors (tenant_id, connector_id, name, airbyte_connection_id, external_account_id, next_sync_at,
                             planned_for, created_by)
     select $1, 'connector-' || n, 'Connector ' || n, gen_random_uuid()::text, 'account-' || n,
            clock_timestamp() + n * $3::int * interval '1 millisecond', 'enterprise', 'bench'
       from generate_series(1, $2::int) n
     returning airbyte_connection_id as connection, next_sync_at as due`,
    [tenantId, size, apartMs],
  );
  return new Map(rows.map(({ connection, due }) => [connection, new Date(due).getTime()]));
}

async function countSucceeded(database) {
  const [{ count }] = await database.query(
    `select count(*)::int as count from ingestion_jobs where pipeline = 'sync' and status = 'success'`,
  );
  return count;
}

function figuresOf(triggers, due) {
  const seen = new Set(triggers.map(({ connectionId }) => connectionId));
  if (triggers.length !== due.size || seen.size !== due.size) {
    throw new Error(
      `${due.size} connectors were due; ${triggers.length} triggers reached ${seen.size} of them`,
    );
  }
  const waits = triggers.map(({ connectionId, atMs }) => (atMs - due.get(connectionId)) / 1000);
  return {
    p50: percentile(waits, 0.5),
    p99: percentile(waits, 0.99),
    max: Math.max(...waits),
    late: waits.filter((seconds) => seconds * 1000 > scheduleMs + lateMs).length,
  };
}
