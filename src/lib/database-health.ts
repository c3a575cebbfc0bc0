import type pg from 'pg';

/** What goes wrong in a database while it works. All of it is read with bounded effort, however much is stored. */
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

/** Rows whose owner is gone, by the table that they are in; how many owners. */
export interface Orphans {
  table: string;
  owners: number;
}

export interface Drift {
  what: string;
  stated: string;
  counted: string;
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

/** Owners that no foreign key ties to their rows, because these are too many; each with an index that begins so. */
const ownerships = [
  { table: 'job_items', key: 'job_id', owner: 'item_jobs' },
  { table: 'staging_rows', key: 'upload_id', owner: 'data_uploads' },
  { table: 'staging_id_resolution', key: 'upload_id', owner: 'data_uploads' },
  { table: 'catalog_products', key: 'version_id', owner: 'catalog_versions' },
  { table: 'knowledge_documents', key: 'kb_id', owner: 'knowledge_bases' },
  { table: 'knowledge_links', key: 'kb_id', owner: 'knowledge_bases' },
  { table: 'embeddings_index', key: 'kb_id', owner: 'knowledge_bases' },
  { table: 'scrape_references', key: 'source', owner: 'scrape_sources' },
] as const;

/** Walks each index from owner to owner instead of reading all rows. */
export function listOrphans(client: pg.Client): Promise<Orphans[]> {
  return seeingEveryTenant(client, () => readOrphans(client));
}

async function readOrphans(client: pg.Client): Promise<Orphans[]> {
  const found: Orphans[] = [];
  for (const { table, key, owner } of ownerships) {
    const { rows } = await client.query<{ owners: number }>(
      `with recursive owned as (
         (select tenant_id, ${key} from ${table} order by tenant_id, ${key} limit 1)
         union all
         select n.tenant_id, n.${key}
           from owned o
          cross join lateral (
            select r.tenant_id, r.${key}
              from ${table} r
             where (r.tenant_id, r.${key}) > (o.tenant_id, o.${key})
             order by r.tenant_id, r.${key}
             limit 1) n)
       select count(*)::int as owners
         from owned o
        where not exists (select from ${owner} w where w.tenant_id = o.tenant_id and w.${key} = o.${key})`,
    );
    const owners = rows[0]?.owners ?? 0;
    if (owners > 0) found.push({ table, owners });
  }
  return found;
}

/** The newest ones, and none that is too large to be counted here. */
const countedJobs = 100;
const countedRows = 50_000;

/** Counters that are kept beside rows, counted again. Only of what has ended: what is at work changes meanwhile. */
export function listDrift(client: pg.Client): Promise<Drift[]> {
  return seeingEveryTenant(client, () => readDrift(client));
}

async function readDrift(client: pg.Client): Promise<Drift[]> {
  const { rows } = await client.query<Drift>(
    `with ended as (
       select c.*
         from item_jobs c
         join ingestion_jobs j on j.tenant_id = c.tenant_id and j.job_id = c.job_id
        where j.status in ('success', 'dead_letter')
          and c.total <= $2
        order by j.finished_at desc nulls last
        limit $1)
     select format('rows of job %s', e.job_id) as what,
            concat_ws('/', e.total, e.pending, e.processing, e.done, e.error, e.not_found, e.skipped) as stated,
            r.counted
       from ended e
      cross join lateral (
        select concat_ws('/', count(*), count(*) filter (where i.status = 'PENDING'),
                 count(*) filter (where i.status = 'PROCESSING'), count(*) filter (where i.status = 'DONE'),
                 count(*) filter (where i.status = 'ERROR'), count(*) filter (where i.status = 'NOT_FOUND'),
                 count(*) filter (where i.status = 'SKIPPED')) as counted
          from job_items i
         where i.tenant_id = e.tenant_id
           and i.job_id = e.job_id) r
      where r.counted <> concat_ws('/', e.total, e.pending, e.processing, e.done, e.error, e.not_found, e.skipped)
      union all
     select format('products of catalogue %s', c.name), c.product_count::text, p.counted
       from (select * from catalogs where product_count <= $2 order by updated_at desc limit $1) c
      cross join lateral (
        select count(*)::text as counted
          from catalog_products r
         where r.tenant_id = c.tenant_id
           and r.version_id = c.version_id) p
      where p.counted <> c.product_count::text
      limit 10`,
    [countedJobs, countedRows],
  );
  return rows;
}

async function seeingEveryTenant<Result>(client: pg.Client, read: () => Promise<Result>): Promise<Result> {
  await client.query('begin read only; set local role sluice_kernel');
  try {
    return await read();
  } finally {
    await client.query('rollback');
  }
}
