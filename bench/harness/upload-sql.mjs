// The work of an upload as a person would write it in SQL, into the product's tables in a separate database.
import { flatColumns } from './ad-report.mjs';
import { runPsql } from './psql.mjs';
import { tenantId } from './sluice.mjs';

export const workspaceId = '00000000-0000-4000-8000-000000000001';

/** An ordinary table, logged like all the others. */
export async function createFlatTable(database, { numbered }) {
  const number = numbered ? 'line_no bigint generated always as identity, ' : '';
  await database.query(
    `create table flat (${number}${flatColumns.map((column) => `${column} text`).join(', ')})`,
  );
}

export async function createTenant(database) {
  await database.query('insert into tenants (tenant_id, name) values ($1, $1)', [tenantId]);
  await database.query(
    `insert into workspaces (tenant_id, workspace_id, name) values ($1, $2, 'Main')
     on conflict do nothing`,
    [tenantId, workspaceId],
  );
}

/** Ordinary foreign keys, as a person would have them, in the place of the product's checks by statement. */
export async function useForeignKeys(database) {
  await database.query('drop trigger daily_metrics_parents on daily_metrics');
  for (const [table, key] of [
    ['campaigns', 'campaign_id'],
    ['ad_sets', 'ad_set_id'],
    ['ads', 'ad_id'],
  ]) {
    await database.query(
      `alter table daily_metrics add foreign key (tenant_id, ${key}) references ${table} (tenant_id, ${key})`,
    );
  }
}

/** Before the clock starts: a person would load into an empty table. */
export async function emptyFlatTable(database) {
  await database.query('truncate flat');
}

/** `\copy`, then one transaction of insert-selects with the upserts, keys and foreign keys of the product. */
export async function loadBySql(server, { database, path, uploadId }) {
  const copy = `\\copy flat (${flatColumns.join(', ')}) from '${path}' with (format csv, header true)`;
  await runPsql(server, { database, command: copy });
  // Fresh statistics first: without them the joins are planned for an empty table.
  await runPsql(server, {
    database,
    command: `set work_mem = '64MB';\nset jit = off;\nanalyze flat;\n${promotion(uploadId)}`,
  });
}

function promotion(uploadId) {
  const own = `'${tenantId}', '${workspaceId}'::uuid, null::uuid, 'meta'`;
  const upload = `now(), '${uploadId}'::uuid, '${uploadId}'::uuid`;
  const place = `p.tenant_id = '${tenantId}' and p.workspace_id = '${workspaceId}' and p.client_id is null
    and p.platform = 'meta'`;
  const joined = (table, alias, column) =>
    `join ${table} ${alias} on ${place.replaceAll('p.', `${alias}.`)} and ${alias}.external_id = f.${column}`;
  // Fresh statistics after every step: without them a nested loop over 316,000 lines takes minutes.
  return [
    dimension({
      table: 'campaigns',
      columns: 'name, status',
      values: 'f.campaign_name, f.campaign_status',
      key: 'campaign_id',
      joins: '',
    }),
    'analyze campaigns',
    dimension({
      table: 'ad_sets',
      columns: 'name, campaign_id',
      values: 'f.ad_set_name, c.campaign_id',
      key: 'ad_set_id',
      joins: joined('campaigns', 'c', 'campaign_id'),
    }),
    'analyze ad_sets',
    dimension({
      table: 'ads',
      columns: 'name, campaign_id, ad_set_id',
      values: 'f.ad_name, c.campaign_id, s.ad_set_id',
      key: 'ad_id',
      joins: `${joined('campaigns', 'c', 'campaign_id')} ${joined('ad_sets', 's', 'ad_set_id')}`,
    }),
    'analyze ads',
    `insert into daily_metrics as p (
       tenant_id, workspace_id, client_id, platform, metric_date, campaign_id, ad_set_id, ad_id, impressions, link_clicks,
       reach, spend, conversions, conversion_value, currency, as_of, created_by_upload, last_upload)
     select distinct on (a.ad_id, s.ad_set_id, c.campaign_id, f.day::date)
            ${own}, f.day::date, c.campaign_id, s.ad_set_id, a.ad_id, f.impressions::bigint, f.link_clicks::bigint,
            f.reach::bigint, f.spend::numeric, f.conversions::numeric, f.conversion_value::numeric, 'USD', ${upload}
       from flat f
       ${joined('campaigns', 'c', 'campaign_id')}
       ${joined('ad_sets', 's', 'ad_set_id')}
       ${joined('ads', 'a', 'ad_id')}
      order by a.ad_id, s.ad_set_id, c.campaign_id, f.day::date, f.line_no desc
     on conflict on constraint daily_metrics_key do update
        set ${metricUpdates}`,
  ].join(';\n');

  /** The last line of a key wins, as in the product. */
  function dimension({ table, columns, values, key, joins }) {
    const updated = columns.split(', ');
    return `
      insert into ${table} as p (
        tenant_id, workspace_id, client_id, platform, external_id, is_name_key, ${columns}, as_of,
        created_by_upload, last_upload)
      select distinct on (f.${key}) ${own}, f.${key}, false, ${values}, ${upload}
        from flat f ${joins}
       order by f.${key}, f.line_no desc
      on conflict (tenant_id, workspace_id, client_id, platform, external_id) do update
         set ${updated.map((name) => `${name} = excluded.${name}`).join(', ')},
             as_of = excluded.as_of,
             last_upload = excluded.last_upload,
             updated_at = ${touched(updated)}
       where p.as_of <= excluded.as_of`;
  }
}

const figures = [
  'impressions',
  'link_clicks',
  'reach',
  'spend',
  'conversions',
  'conversion_value',
  'currency',
];
const metricUpdates = `${figures.map((name) => `${name} = excluded.${name}`).join(', ')},
            as_of = excluded.as_of,
            last_upload = excluded.last_upload,
            updated_at = ${touched(figures)}
      where p.as_of <= excluded.as_of`;

/** As in the product: rows that say nothing new only learn which upload confirmed them. */
function touched(columns) {
  const list = (prefix) => columns.map((name) => `${prefix}.${name}`).join(', ');
  return `case when (${list('p')}) is distinct from (${list('excluded')})
               then clock_timestamp() else p.updated_at end`;
}
