import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { EntityType, Upload, UploadKey, UploadStatus, WarningCount } from '../types.ts';

/** Why a row was not promoted, or what is odd about how it was. */
export interface RowNote {
  rowIndex: number;
  code: string;
  message: string;
}

const noteColumns = { failed: sql`promotion_error`, warned: sql`promotion_warning` };

export async function noteRows(
  tx: Tx,
  { tenantId, uploadId }: UploadKey,
  { entityType, as, notes }: { entityType: EntityType; as: keyof typeof noteColumns; notes: RowNote[] },
): Promise<void> {
  if (notes.length === 0) return;
  await tx.run(sql`
    update staging_rows s
       set ${noteColumns[as]} = jsonb_build_object('code', n.code, 'message', n.message)
      from jsonb_to_recordset(${JSON.stringify(notes)}::jsonb) as n ("rowIndex" integer, code text, message text)
     where s.tenant_id = ${tenantId}
       and s.upload_id = ${uploadId}
       and s.entity_type = ${entityType}
       and s.row_index = n."rowIndex"`);
}

/** Gives every row after the last batch of a failed promotion the reason. `later` are the entities not started. */
export async function failUnpromoted(
  tx: Tx,
  { tenantId, uploadId }: UploadKey,
  at: {
    entityType: EntityType;
    afterRow: number;
    later: readonly EntityType[];
    errorCode: string;
    errorText: string;
  },
): Promise<void> {
  await tx.run(sql`
    update staging_rows
       set promotion_error = jsonb_build_object('code', ${at.errorCode}::text, 'message', ${at.errorText}::text)
     where tenant_id = ${tenantId}
       and upload_id = ${uploadId}
       and ((entity_type = ${at.entityType} and row_index > ${at.afterRow}) or entity_type = any(${at.later}))
       and validation_status = 'valid'
       and promotion_error is null`);
}

export interface PromotionFigures
  extends Pick<Upload, 'promotedRows' | 'failedRows' | 'campaignsUpserted' | 'adSetsUpserted'>,
    Pick<Upload, 'adsUpserted' | 'dailyMetricsUpserted' | 'affectedDates'> {
  /** Lines that a later line of the file replaces, because it has the same key. */
  replacedRows: number;
}

/** Counts the staged rows after the last batch: distinct keys, and the days that they touched. */
export async function readPromotionFigures(
  tx: Tx,
  { tenantId, uploadId, validRows, invalidRows }: Upload,
): Promise<PromotionFigures> {
  const rows = await tx.rows<{ entityType: EntityType; keys: number; rows: number; failed: number }>(sql`
    select k.entity_type as "entityType", count(*) filter (where k.promoted > 0) as keys,
           sum(k.promoted)::bigint as rows, sum(k.failed)::bigint as failed
      from (
        select s.entity_type, s.natural_key_hash, count(*) filter (where s.promotion_error is null) as promoted,
               count(*) filter (where s.promotion_error is not null) as failed
          from staging_rows s
         where s.tenant_id = ${tenantId}
           and s.upload_id = ${uploadId}
           and s.validation_status = 'valid'
         group by s.entity_type, s.natural_key_hash) k
     group by k.entity_type`);
  const dates = await tx.rows<{ date: string }>(sql`
    select distinct s.metric_date as date
      from staging_rows s
     where s.tenant_id = ${tenantId}
       and s.upload_id = ${uploadId}
       and s.entity_type = 'daily_metric'
       and s.validation_status = 'valid'
       and s.promotion_error is null
     order by date`);
  const of = (entity: EntityType) => rows.find(({ entityType }) => entityType === entity);
  const { rows: facts, keys, failed } = of('daily_metric') ?? { rows: 0, keys: 0, failed: 0 };
  return {
    promotedRows: validRows - failed,
    failedRows: invalidRows + failed,
    campaignsUpserted: of('campaign')?.keys ?? 0,
    adSetsUpserted: of('ad_set')?.keys ?? 0,
    adsUpserted: of('ad')?.keys ?? 0,
    dailyMetricsUpserted: keys,
    replacedRows: facts - keys,
    affectedDates: dates.map(({ date }) => date),
  };
}

/** Returns false when the upload is no longer being promoted. */
export async function finishPromotion(
  tx: Tx,
  { tenantId, uploadId }: UploadKey,
  end: PromotionFigures & {
    status: Extract<UploadStatus, 'completed' | 'partial' | 'failed'>;
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
