// What work costs the database server: processor time of all its processes, WAL, and its own record of statements.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** Linux reports processor time in hundredths of a second. */
const msPerTick = 10;

/** A comment in queries of the benchmark itself, which are not counted. */
export const ownQueries = 'asked by the benchmark';

/** Runs `work`, then lets the same time pass without it; returns the difference of both, and how long it took. */
export async function loadOf({ server, database }, work) {
  const busy = await measure({ server, database }, work);
  const idle = await measure({ server, database }, () => pause(busy.seconds * 1000));
  return {
    seconds: busy.seconds,
    cpuMs: busy.cpuMs - idle.cpuMs,
    walBytes: busy.walBytes - idle.walBytes,
    idleCpuMs: idle.cpuMs,
    idleWalBytes: idle.walBytes,
  };
}

async function measure({ server, database }, work) {
  const before = await readLoad({ server, database });
  const startedAtMs = performance.now();
  await work();
  const seconds = (performance.now() - startedAtMs) / 1000;
  const after = await readLoad({ server, database });
  return { seconds, cpuMs: after.cpuMs - before.cpuMs, walBytes: after.walBytes - before.walBytes };
}

async function readLoad({ server, database }) {
  const [row] = await database.query(`select (pg_current_wal_insert_lsn() - '0/0')::float8 as "walBytes"`);
  return { cpuMs: cpuMsOf(server.pid), walBytes: row.walBytes };
}

/** Of a server and all its processes, those that have ended included: their parent has waited for them. */
function cpuMsOf(serverPid) {
  let ticks = 0;
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const fields = statOf(pid);
    if (fields === null) continue;
    const [parent, user, system, endedUser, endedSystem] = fields;
    if (pid === serverPid) ticks += user + system + endedUser + endedSystem;
    else if (parent === serverPid) ticks += user + system;
  }
  return ticks * msPerTick;
}

/** Null for a process that has just ended. */
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program stands in brackets and may have spaces.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return [1, 11, 12, 13, 14].map((at) => Number(fields[at]));
  } catch {
    return null;
  }
}

/** What statements of the program cost while `work` ran, by pg_stat_statements; nested ones count for their caller. */
export async function statementsOf({ database }, work) {
  await database.query(`select pg_stat_statements_reset()`);
  await track(database, 'top');
  try {
    await work();
  } finally {
    await track(database, 'none');
  }
  return database.query(
    `select s.query, s.calls::float8 as calls, s.total_exec_time + s.total_plan_time as ms,
            s.total_plan_time as "planMs", s.wal_bytes::float8 as "walBytes", s.rows::float8 as rows
       from pg_stat_statements s
       join pg_database d on d.oid = s.dbid and d.datname = current_database()
      where s.query not like '%pg_stat_statements%'
        and s.query not like '%/* ${ownQueries} */%'
      order by ms desc`,
  );
}

/** Off while processor time is measured: the record itself costs some. */
export async function track(database, which) {
  await database.query(`alter system set pg_stat_statements.track = '${which}'`);
  await database.query('select pg_reload_conf()');
  // Sessions read the configuration between two statements, and idle ones with the next.
  await pause(300);
}
