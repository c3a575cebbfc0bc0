import type { Tx } from '../../../lib/postgres/db.ts';
import { type Sql, sql, trustedSql } from '../../../lib/postgres/sql.ts';
import { joinParents } from '../promotion/store.ts';
import { areAskedFor, figureTables } from './filter-store.ts';
import { type FigureFilter, type FigureKind, type Sums, summedFields } from './types.ts';

/** A line of a file that figures came from. */
export interface SourceLine {
  upload_id: string;
  line: number;
}

/** One row of stored figures, and where it came from. */
export interface StoredFigure extends Sums {
  metricId: number;
  workspaceId: string;
  clientId: string | null;
  platform: string;
  dateFrom: string;
  dateTo: string;
  campaignId: string | null;
  campaignExternalId: string | null;
  campaignName: string | null;
  adSetId: string | null;
  adSetExternalId: string | null;
  adSetName: string | null;
  adId: string | null;
  adExternalId: string | null;
  adName: string | null;
  reach: number | null;
  currency: string | null;
  uploadId: string;
  /** Null for an upload that the reader may not see, or that is no longer known. */
  filename: string | null;
  uploadedAt: Date | null;
  /** The first lines that the row is the sum of. */
  lines: SourceLine[];
  lineCount: number;
}

export interface FigurePosition {
  workspaceId: string;
  date: string;
  id: number;
}

export interface FigureQuery extends FigureFilter {
  /** Members know only their own uploads. */
  ownerId?: string | undefined;
  after: FigurePosition | null;
  limit: number;
}

/** Lines of one row that are listed; `lineCount` tells how many there are. */
const linesShown = 100;

/** The stored rows behind a sum, by workspace and date. */
export function listFigures(tx: Tx, query: FigureQuery): Promise<StoredFigure[]> {
  const { table, from, to } = figureTables[query.kind];
  const parents = ['campaign', 'ad_set', 'ad'] as const;
  return tx.rows<StoredFigure>(sql`
    select p.metric_id as "metricId", p.workspace_id as "workspaceId", p.client_id as "clientId", p.platform,
           ${from} as "dateFrom", ${to} as "dateTo",
           p.campaign_id as "campaignId", campaign.external_id as "campaignExternalId",
           campaign.name as "campaignName", p.ad_set_id as "adSetId", ad_set.external_id as "adSetExternalId",
           ad_set.name as "adSetName", p.ad_id as "adId", ad.external_id as "adExternalId", ad.name as "adName",
           ${figureTexts}, p.reach, p.currency, p.last_upload as "uploadId", u.filename,
           u.created_at as "uploadedAt", coalesce(b.lines, ${ownLine}) as lines,
           coalesce(b.line_count, (p.line_no is not null)::integer) as "lineCount"
      from (select p.*
              from ${table}
             where ${areAskedFor(query)}
               and ${isAfter(query, from)}
             order by p.workspace_id, ${from}, p.metric_id
             limit ${query.limit}) p
      ${joinParents(parents)}
      ${joinUpload(query)}
      cross join lateral (${linesOf(query.kind)}) b
     order by p.workspace_id, ${from}, p.metric_id`);
}

function isAfter({ after }: FigureQuery, from: Sql): Sql {
  if (after === null) return sql`true`;
  const { workspaceId, date, id } = after;
  return sql`(p.workspace_id, ${from}, p.metric_id) > (${workspaceId}::uuid, ${date}::date, ${id}::bigint)`;
}

const figureTexts = trustedSql(summedFields.map((figure) => `p.${figure}::text as ${figure}`).join(', '));

/** What the row itself says: its line in the file of the upload that gave its values. */
const ownLine = sql`case when p.line_no is null then '[]'::jsonb
             else jsonb_build_array(jsonb_build_object('upload_id', p.last_upload, 'line', p.line_no)) end`;

/**
 * The lines of the report with a breakdown that row `p` is the sum of; null without one. Several such reports may state
 * one row: the lines are those of the report that stated it last.
 */
function linesOf(kind: FigureKind): Sql {
  return sql`select (jsonb_agg(jsonb_build_object('upload_id', s.last_upload, 'line', s.line_no)
                        order by s.line_no) filter (where s.place <= ${linesShown})) as lines,
                   nullif(count(*)::integer, 0) as line_count
              from (select l.last_upload, l.line_no, row_number() over (order by l.line_no) as place
                      from (${breakdownsOf(kind, sql`l.ad_id = p.ad_id`)}
                            union all
                            ${breakdownsOf(kind, sql`l.ad_set_id = p.ad_set_id and p.ad_id is null`)}
                            union all
                            ${breakdownsOf(
                              kind,
                              sql`l.campaign_id = p.campaign_id and p.ad_set_id is null and p.ad_id is null`,
                            )}) l) s`;
}

/** One branch per level: `is not distinct from` alone would use no index. */
function breakdownsOf(kind: FigureKind, isOfEntity: Sql): Sql {
  const { from, to } = figureTables[kind];
  return sql`select l.last_upload, l.line_no
                             from metric_breakdowns l
                            where l.tenant_id = p.tenant_id
                              and ${isOfEntity}
                              and l.workspace_id = p.workspace_id
                              and l.platform = p.platform
                              and l.date_from = ${from}
                              and l.date_to = ${to}
                              and l.line_no is not null
                              and (l.client_id, l.campaign_id, l.ad_set_id, l.ad_id)
                                  is not distinct from (p.client_id, p.campaign_id, p.ad_set_id, p.ad_id)
                              and coalesce(l.confirmed_by_upload, l.last_upload)
                                  = coalesce(p.confirmed_by_upload, p.last_upload)`;
}

function joinUpload({ ownerId }: FigureQuery): Sql {
  return sql`left join data_uploads u
        on u.tenant_id = p.tenant_id and u.upload_id = p.last_upload
       and (${ownerId ?? null}::text is null or u.user_id = ${ownerId ?? null})`;
}

/** An upload, and what it contributes to a sum. */
export interface SourceUpload extends Sums {
  uploadId: string;
  filename: string | null;
  uploadedAt: Date | null;
  currency: string | null;
  rows: number;
}

/** The uploads whose values a sum consists of, the newest first. */
export function listSourceUploads(
  tx: Tx,
  query: FigureFilter & { ownerId?: string | undefined; limit: number },
): Promise<SourceUpload[]> {
  const { table } = figureTables[query.kind];
  const figures = trustedSql(summedFields.map((figure) => `sum(p.${figure})::text as ${figure}`).join(', '));
  return tx.rows<SourceUpload>(sql`
    with sources as (
      select p.tenant_id, p.last_upload, p.currency, count(*) as rows, ${figures}
        from ${table}
       where ${areAskedFor(query)}
       group by p.tenant_id, p.last_upload, p.currency
    )
    select p.last_upload as "uploadId", u.filename, u.created_at as "uploadedAt", p.currency, p.rows,
           ${trustedSql(summedFields.map((figure) => `p.${figure}`).join(', '))}
      from sources p
      ${joinUpload({ ...query, after: null })}
     order by u.created_at desc nulls last, p.last_upload, p.currency
     limit ${query.limit}`);
}
