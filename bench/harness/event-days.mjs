// An event log as it is after some days of writing, a part of the events for each day.
export const dayMs = 86_400_000;
const eventsAtOnce = 200_000;

/**
 * The oldest day comes first, and the last one ends now: returns that moment. A log in partitions gets one for each
 * day, opened by the database's own function and then dated back to the day's beginning.
 */
export async function writeEventDays(database, { days, count, tenants }) {
  const isPartitioned = await hasPartitions(database);
  const now = new Date();
  for (let ago = days; ago >= 1; ago -= 1) {
    const from = Math.floor((count * (days - ago)) / days);
    const until = Math.floor((count * (days - ago + 1)) / days);
    const day = { now, ago, from, until };
    if (isPartitioned) await openDay(database, day);
    for (let at = from; at < until; at += eventsAtOnce) {
      await insertEvents(database, { day, tenants, at, end: Math.min(at + eventsAtOnce, until) });
    }
  }
  // What is written from now on belongs to today.
  if (isPartitioned) {
    await openDay(database, { now, ago: 0 });
    await assertPartitions(database, days);
  }
  return now;
}

async function hasPartitions(database) {
  const [{ found }] = await database.query(`select to_regclass('event_partitions') is not null as found`);
  return found;
}

async function openDay(database, { now, ago }) {
  await database.query(`select roll_event_log(interval '0')`);
  await database.query(
    `update event_partitions
        set opened_at = $1::timestamptz - $2 * interval '1 day'
      where opened_at > clock_timestamp() - interval '1 hour'`,
    [now, ago],
  );
}

async function assertPartitions(database, days) {
  const [{ count }] = await database.query(
    'select count(distinct tableoid)::int as count from events where occurred_at < clock_timestamp()',
  );
  if (count !== days) throw new Error(`The events are in ${count} partitions instead of ${days}`);
}

/** With the size and the shape of the kernel's own events. */
async function insertEvents(database, { day, tenants, at, end }) {
  await database.query(
    `insert into events (tenant_id, type, subject, correlation_id, data, occurred_at)
     select 'tenant-' || 1 + n % $1, 'job.completed', gen_random_uuid()::text, gen_random_uuid()::text,
            jsonb_build_object('job_id', gen_random_uuid(), 'tenant_id', 'tenant-1', 'pipeline', 'bench',
              'subject_id', gen_random_uuid(), 'retry_count', 0, 'duration_seconds', 0.01, 'counters', '{}'::jsonb),
            $2::timestamptz + (n - $3::int) * (interval '1 day' / $4::int)
       from generate_series($5::int, $6::int - 1) n`,
    [tenants, new Date(day.now - day.ago * dayMs), day.from, day.until - day.from, at, end],
  );
}
