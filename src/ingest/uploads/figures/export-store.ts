import type { Tx } from '../../../lib/postgres/db.ts';
import { type Sql, sql, trustedSql } from '../../../lib/postgres/sql.ts';
import { joinParents } from '../promotion/store.ts';
import { areAskedFor, figureTables } from './filter-store.ts';
import type { FigureFilter, FigureKind } from './types.ts';

export interface ExportPosition {
  date: string;
  id: number;
}

/** The columns of an export of single rows, in order: name and the SQL that gives it, from row `p`. */
export function exportColumns(kind: FigureKind): readonly (readonly [name: string, source: string])[] {
  const dates =
    kind === 'daily'
      ? ([['metric_date', 'p.metric_date']] as const)
      : ([
          ['date_from', 'p.date_from'],
          ['date_to', 'p.date_to'],
        ] as const);
  return [...dates, ...otherColumns];
}

const otherColumns = [
  ['platform', 'p.platform'],
  ['client_id', 'p.client_id'],
  ['campaign_external_id', 'campaign.external_id'],
  ['campaign_name', 'campaign.name'],
  ['ad_set_external_id', 'ad_set.external_id'],
  ['ad_set_name', 'ad_set.name'],
  ['ad_external_id', 'ad.external_id'],
  ['ad_name', 'ad.name'],
  ['impressions', 'p.impressions'],
  ['clicks', 'p.clicks'],
  ['link_clicks', 'p.link_clicks'],
  ['reach', 'p.reach'],
  ['spend', 'p.spend'],
  ['conversions', 'p.conversions'],
  ['conversion_value', 'p.conversion_value'],
  ['currency', 'p.currency'],
  ['workspace_id', 'p.workspace_id'],
  ['upload_id', 'p.last_upload'],
  ['line', 'p.line_no'],
] as const;

export type ExportedRow = Record<string, string | null> & { position_date: string; position_id: string };

export interface ExportQuery extends FigureFilter {
  workspaceId: string;
  after: ExportPosition | null;
  limit: number;
}

/** The next rows of one workspace; every value is text. */
export function listExported(tx: Tx, query: ExportQuery): Promise<ExportedRow[]> {
  const { table, from } = figureTables[query.kind];
  const columns = exportColumns(query.kind).map(([name, source]) => `${source}::text as ${name}`);
  return tx.rows<ExportedRow>(sql`
    select ${trustedSql(columns.join(', '))}, ${from}::text as position_date, p.metric_id::text as position_id
      from (select p.*
              from ${table}
             where ${areAskedFor(query)}
               and ${isAfter(query.after, from)}
             order by ${from}, p.metric_id
             limit ${query.limit}) p
      ${joinParents(['campaign', 'ad_set', 'ad'])}
     order by ${from}, p.metric_id`);
}

function isAfter(after: ExportPosition | null, from: Sql): Sql {
  if (after === null) return sql`true`;
  return sql`(${from}, p.metric_id) > (${after.date}::date, ${after.id}::bigint)`;
}

export async function listWorkspaceIds(
  tx: Tx,
  { tenantId, workspaceId }: Pick<FigureFilter, 'tenantId' | 'workspaceId'>,
): Promise<string[]> {
  const rows = await tx.rows<{ id: string }>(sql`
    select w.workspace_id as id
      from workspaces w
     where w.tenant_id = ${tenantId}
       and (${workspaceId ?? null}::uuid is null or w.workspace_id = ${workspaceId ?? null})
     order by w.workspace_id`);
  return rows.map(({ id }) => id);
}
