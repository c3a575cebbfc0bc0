import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import { type AdditiveFigures, factTypes } from '../reports/types.ts';
import { sumRefused } from '../staging/repeats-store.ts';
import type { EntityType, Reconciliation, Upload, UploadKey, UploadStatus, WarningCount } from '../types.ts';
import { hasRepeats } from './facts-store.ts';

/** Why a row was not promoted. */
export interface RowNote {
  rowIndex: number;
  code: string;
  message: string;
}

/** The first reason stays. */
export async function noteRows(
  tx: Tx,
  { tenantId, uploadId }: UploadKey,
  { entityTypes, notes }: { entityTypes: readonly EntityType[]; notes: RowNote[] },
): Promise<void> {
  if (notes.length === 0) return;
  await tx.run(sql`
    update staging_rows s
       set promotion_error = jsonb_build_object('code', n.code, 'message', n.message)
      from jsonb_to_recordset(${JSON.stringify(notes)}::jsonb) as n ("rowIndex" integer, code text, message text)
     where s.tenant_id = ${tenantId}
       and s.upload_id = ${uploadId}
       and s.entity_type = any(${entityTypes}::text[])
       and s.row_index = n."rowIndex"
       and s.promotion_error is null`);
}

/**
 * Gives every row that a failed promotion did not reach the reason. `later` are the entities not started. A key on
 * several lines was reached when its first line was.
 */
export async function failUnpromoted(
  tx: Tx,
  { tenantId, uploadId }: UploadKey,
  at: {
    entityType: EntityType | null;
    afterRow: number;
    later: readonly EntityType[];
    errorCode: string;
    errorText: string;
  },
): Promise<void> {
  await tx.run(sql`
    update staging_rows s
       set promotion_error = jsonb_build_object('code', ${at.errorCode}::text, 'message', ${at.errorText}::text)
     where s.tenant_id = ${tenantId}
       and s.upload_id = ${uploadId}
       and (s.entity_type = any(${at.later})
            or (s.entity_type = ${at.entityType} and coalesce((
                  select r.head_row
                    from staging_repeats r
                   where r.tenant_id = s.tenant_id
                     and r.upload_id = s.upload_id
                     and r.row_index = s.row_index), s.row_index) > ${at.afterRow}))
       and s.validation_status = 'valid'
       and s.promotion_error is null`);
}

export interface PromotionFigures
  extends Pick<Upload, 'promotedRows' | 'failedRows' | 'campaignsUpserted' | 'adSetsUpserted'>,
    Pick<Upload, 'adsUpserted' | 'dailyMetricsUpserted' | 'periodMetricsUpserted' | 'affectedDates'> {
  /** What the lines that promotion refused add up to. */
  refused: Partial<AdditiveFigures>;
}

/** Counts the staged rows after the last batch: distinct keys, and the days that they touched. */
export async function readPromotionFigures(tx: Tx, upload: Upload): Promise<PromotionFigures> {
  const { validRows, invalidRows } = upload;
  const entities = await countKeys(tx, upload, ['campaign', 'ad_set', 'ad']);
  const facts = await (hasRepeats(upload) ? countKeys : countRows)(tx, upload, factTypes);
  const all = [...entities, ...facts];
  const keysOf = (type: EntityType) => all.find(({ entityType }) => entityType === type)?.keys ?? 0;
  const failed = facts.reduce((sum, fact) => sum + fact.failed, 0);
  return {
    promotedRows: validRows - failed,
    failedRows: invalidRows + failed,
    campaignsUpserted: keysOf('campaign'),
    adSetsUpserted: keysOf('ad_set'),
    adsUpserted: keysOf('ad'),
    dailyMetricsUpserted: keysOf('daily_metric'),
    periodMetricsUpserted: keysOf('period_metric'),
    refused: failed === 0 ? {} : await sumRefused(tx, upload),
    affectedDates: await listDates(tx, upload),
  };
}

interface Counted {
  entityType: EntityType;
  keys: number;
  failed: number;
}

function countKeys(
  tx: Tx,
  { tenantId, uploadId }: UploadKey,
  types: readonly EntityType[],
): Promise<Counted[]> {
  return tx.rows<Counted>(sql`
    select k.entity_type as "entityType", count(*) filter (where k.promoted > 0) as keys,
           sum(k.failed)::bigint as failed
      from (
        select s.entity_type, s.natural_key_hash, count(*) filter (where s.promotion_error is null) as promoted,
               count(*) filter (where s.promotion_error is not null) as failed
          from staging_rows s
         where s.tenant_id = ${tenantId}
           and s.upload_id = ${uploadId}
           and s.entity_type = any(${types}::text[])
           and s.validation_status = 'valid'
         group by s.entity_type, s.natural_key_hash) k
     group by k.entity_type`);
}

/** For facts of which none shares its key with another: each promoted row is one. */
function countRows(
  tx: Tx,
  { tenantId, uploadId }: UploadKey,
  types: readonly EntityType[],
): Promise<Counted[]> {
  return tx.rows<Counted>(sql`
    select s.entity_type as "entityType", count(*) filter (where s.promotion_error is null) as keys,
           count(*) filter (where s.promotion_error is not null) as failed
      from staging_rows s
     where s.tenant_id = ${tenantId}
       and s.upload_id = ${uploadId}
       and s.entity_type = any(${types}::text[])
       and s.validation_status = 'valid'
     group by s.entity_type`);
}

async function listDates(tx: Tx, { tenantId, uploadId }: UploadKey): Promise<string[]> {
  const dates = await tx.rows<{ date: string }>(sql`
    select distinct s.metric_date as date
      from staging_rows s
     where s.tenant_id = ${tenantId}
       and s.upload_id = ${uploadId}
       and s.entity_type = 'daily_metric'
       and s.validation_status = 'valid'
       and s.promotion_error is null
     order by date`);
  return dates.map(({ date }) => date);
}

/** Returns false when the upload is no longer being promoted. */
export async function finishPromotion(
  tx: Tx,
  { tenantId, uploadId }: UploadKey,
  end: PromotionFigures & {
    status: Extract<UploadStatus, 'completed' | 'partial' | 'failed'>;
    breakdownsStored: number;
    reconciliation: Reconciliation;
    warnings: WarningCount[];
    errorCode: string | null;
    errorText: string | null;
  },
): Promise<boolean> {
  const finished = await tx.run(sql`
    update data_uploads
       set status = ${end.status},
           row_count = ${end.promotedRows},
           promoted_rows = ${end.promotedRows},
           failed_rows = ${end.failedRows},
           campaigns_upserted = ${end.campaignsUpserted},
           ad_sets_upserted = ${end.adSetsUpserted},
           ads_upserted = ${end.adsUpserted},
           daily_metrics_upserted = ${end.dailyMetricsUpserted},
           period_metrics_upserted = ${end.periodMetricsUpserted},
           breakdowns_stored = ${end.breakdownsStored},
           reconciliation = ${JSON.stringify(end.reconciliation)}::jsonb,
           affected_dates = ${end.affectedDates}::date[],
           warnings = ${JSON.stringify(end.warnings)},
           error_code = ${end.errorCode},
           error_text = ${end.errorText},
           event_emitted = ${end.status !== 'failed'},
           finished_at = clock_timestamp(),
           updated_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and upload_id = ${uploadId}
       and status = 'promoting'
       and not event_emitted`);
  return finished === 1;
}
