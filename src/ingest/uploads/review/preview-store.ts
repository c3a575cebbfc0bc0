import type { Tx } from '../../../lib/postgres/db.ts';
import { type Sql, sql, trustedSql } from '../../../lib/postgres/sql.ts';
import { stagedFacts } from '../promotion/facts-store.ts';
import { differsFrom } from '../promotion/metrics-store.ts';
import { eachColumn, entityTables, joinParents, type Target as PromotionTarget } from '../promotion/store.ts';
import type { EntityKind, FactType, Upload } from '../types.ts';

type Target = PromotionTarget & Pick<Upload, 'createdAt'>;

/** What promoting would do to one kind of entity, in distinct keys. */
export interface PreviewCounts {
  created: number;
  updated: number;
  /** The upload states nothing new, or a newer upload has been promoted. */
  unchanged: number;
}

/** As in promotion, the last of several rows with one key counts, and what it leaves out stays as it is. */
export function previewEntities(tx: Tx, target: Target, kind: EntityKind): Promise<PreviewCounts> {
  const { table, id, texts, parents } = entityTables[kind];
  const columns = ['external_id', ...texts, ...parents.map((parent) => `${parent}_external_id`)];
  const isMoved = parents.map((parent) => {
    const [stated, held] = [`s.${parent}_external_id`, `${parent}.external_id`].map(trustedSql);
    return sql`(${stated} is not null and ${stated} is distinct from ${held})`;
  });
  const isChanged = sql`(${eachColumn(texts, (column) => `p.${column}`)}) is distinct from
               (${eachColumn(texts, (column) => `coalesce(s.${column}, p.${column})`)})`;
  return counts(
    tx,
    sql`
      select p.${id} is not null as is_known, p.as_of,
             ${isMoved.reduce((either, one) => sql`${either} or ${one}`, isChanged)} as is_new
        from (
          select distinct on (r.external_id) r.*
            from staging_rows g,
                 jsonb_to_record(g.raw_data) as r (${eachColumn(columns, (column) => `${column} text`)})
           where g.tenant_id = ${target.tenantId}
             and g.upload_id = ${target.uploadId}
             and g.entity_type = ${kind}
             and g.validation_status = 'valid'
           order by r.external_id, g.row_index desc) s
        left join ${table} p
          on ${isAt(target, sql`p`)}
         and p.external_id = s.external_id
        ${joinParents(parents)}`,
    target,
  );
}

/** For rows of a production table: they belong to what the upload is about. */
function isAt(target: Target, row: Sql): Sql {
  return sql`${row}.tenant_id = ${target.tenantId} and ${row}.workspace_id = ${target.workspaceId}
         and ${row}.client_id is not distinct from ${target.clientId} and ${row}.platform = ${target.platform}`;
}

/** One fact per key, with the sums of the lines that share it, as in promotion. */
export function previewMetrics(tx: Tx, target: Target, type: FactType): Promise<PreviewCounts> {
  const [table, dates] =
    type === 'daily_metric'
      ? [sql`daily_metrics`, sql`p.metric_date = s.metric_date`]
      : [sql`period_metrics`, sql`p.date_from = s.metric_date and p.date_to = s.date_to`];
  return counts(
    tx,
    sql`
      select p.metric_id is not null as is_known, p.as_of,
             ${differsFrom(target, sql`s`)} as is_new
        from (${stagedFacts(target, { type, selection: 'all' })}) s
        left join campaigns c
          on ${isAt(target, sql`c`)}
         and c.external_id = s.campaign_external_id
        left join ad_sets a
          on ${isAt(target, sql`a`)}
         and a.external_id = s.ad_set_external_id
        left join ads d
          on ${isAt(target, sql`d`)}
         and d.external_id = s.ad_external_id
        left join ${table} p
          on ${isAt(target, sql`p`)}
         and ${dates}
         and p.campaign_id is not distinct from c.campaign_id
         and p.ad_set_id is not distinct from a.ad_set_id
         and p.ad_id is not distinct from d.ad_id
         -- A parent that does not exist yet has no figures either.
         and (s.campaign_external_id is null or c.campaign_id is not null)
         and (s.ad_set_external_id is null or a.ad_set_id is not null)
         and (s.ad_external_id is null or d.ad_id is not null)`,
    target,
  );
}

async function counts(tx: Tx, compared: Sql, { createdAt }: Target): Promise<PreviewCounts> {
  const row = await tx.find<PreviewCounts>(sql`
    select count(*) filter (where not x.is_known) as created,
           count(*) filter (where x.is_known and x.is_new and x.as_of <= ${createdAt}) as updated,
           count(*) filter (where x.is_known and not (x.is_new and x.as_of <= ${createdAt})) as unchanged
      from (${compared}) x`);
  return row ?? { created: 0, updated: 0, unchanged: 0 };
}
