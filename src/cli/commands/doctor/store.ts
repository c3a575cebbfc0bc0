import type pg from 'pg';

// Finds rows that do not belong together, over all houses, with bounded effort however much is stored.

/** Rows whose owner is gone: their table and the number of owners. */
export interface Orphans {
  table: string;
  owners: number;
}

export interface Drift {
  what: string;
  stated: string;
  counted: string;
}

/** Rows without a foreign key to their owner, because there are too many; each has an index by owner. */
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

export interface NewestEra {
  beganAt: Date;
  reason: string;
  /** Whether transaction ids still mean what they meant when it began. */
  isCurrent: boolean;
}

export function readNewestEra(client: pg.Client): Promise<NewestEra | null> {
  return seeingEveryTenant(client, async () => {
    const { rows } = await client.query<NewestEra>(
      `select began_at as "beganAt", reason, coalesce(event_incarnation() = incarnation, true) as "isCurrent"
         from event_eras
        order by era desc
        limit 1`,
    );
    return rows[0] ?? null;
  });
}

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

/** Tenants' secrets that cannot be used, because they were stored before secrets had hosts. */
export async function countUnboundSecrets(client: pg.Client): Promise<{ secrets: number; tenants: number }> {
  return seeingEveryTenant(client, async () => {
    const { rows } = await client.query<{ secrets: number; tenants: number }>(
      `select count(*)::int as secrets, count(distinct tenant_id)::int as tenants
         from tenant_secrets
        where hosts = '{}'`,
    );
    return rows[0] ?? { secrets: 0, tenants: 0 };
  });
}

/** Only the newest, and none that is too large to be counted here. */
const countedJobs = 100;
const countedRows = 50_000;

/** Counts again what counters claim. Only for ended jobs: running ones change meanwhile. */
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
