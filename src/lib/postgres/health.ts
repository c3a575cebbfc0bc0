import type pg from 'pg';

export interface BloatedTable {
  name: string;
  deadRows: number;
  liveRows: number;
}

export interface VacuumBlocker {
  what: string;
  /** In seconds; null where the database does not know. */
  age: number | null;
  remedy: string;
}

/** Below this, bloat costs nothing; autovacuum comes by itself at a fifth. */
const minDeadRows = 50_000;
const deadShare = 0.5;

export async function listBloatedTables(client: pg.Client): Promise<BloatedTable[]> {
  const { rows } = await client.query<BloatedTable>(
    `select relname::text as name, n_dead_tup::float8 as "deadRows", n_live_tup::float8 as "liveRows"
       from pg_stat_user_tables
      where n_dead_tup > $1
        and n_dead_tup > $2::float8 * n_live_tup
      order by n_dead_tup desc
      limit 10`,
    [minDeadRows, deadShare],
  );
  return rows;
}

/** Older than any transaction of ours may be. */
const oldTransactionSeconds = 3_600;

/** Whatever keeps vacuum from taking dead rows away. */
export async function listVacuumBlockers(client: pg.Client): Promise<VacuumBlocker[]> {
  const { rows } = await client.query<VacuumBlocker>(
    `select format('session %s of %s (%s, %s)', pid, usename, coalesce(nullif(application_name, ''), 'no name'),
                   state) as what,
            extract(epoch from clock_timestamp() - xact_start)::float8 as age,
            format('End it: select pg_terminate_backend(%s)', pid) as remedy
       from pg_stat_activity
      where xact_start < clock_timestamp() - make_interval(secs => $1)
        and backend_type = 'client backend'
        and (backend_xmin is not null or backend_xid is not null)
      union all
     select format('prepared transaction %s', gid), extract(epoch from clock_timestamp() - prepared)::float8,
            format('Sluice prepares none. End it: rollback prepared %L', gid)
       from pg_prepared_xacts
      where prepared < clock_timestamp() - make_interval(secs => $1)
      union all
     select format('replication slot %s that nobody reads', slot_name), null,
            format('Bring its reader back, or: select pg_drop_replication_slot(%L)', slot_name)
       from pg_replication_slots
      where not active
      union all
     select 'the setting autovacuum, which is off', null, 'Switch it on: alter system set autovacuum = on'
      where current_setting('autovacuum') = 'off'
      limit 10`,
    [oldTransactionSeconds],
  );
  return rows;
}
