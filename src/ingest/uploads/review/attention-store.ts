import type { Attention, Period, Scope } from '../../../kernel/stats/types.ts';
import { firstIdAt } from '../../../lib/ids.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';

const weekMs = 7 * 86_400_000;

/**
 * Uploads that are held for review, and those that failed in the period. Ids are ordered by time, so recent uploads are
 * one range of the key. An upload that was in review for more than a week before it failed is left out.
 */
export function listUploadAttention(
  tx: Tx,
  { tenantId, ownerId }: Scope,
  { since }: Period,
): Promise<Attention[]> {
  return tx.rows<Attention>(sql`
    select 'uploads_in_review' as kind, null as code, count(*) as count, min(updated_at) as "oldestAt",
           case when count(*) = 1 then min(upload_id::text) end as "subjectId"
      from data_uploads
     where tenant_id = ${tenantId}
       and status not in ('completed', 'partial', 'failed')
       and status = 'staging_complete'
       and review
       and (${ownerId ?? null}::text is null or user_id = ${ownerId ?? null})
     union all
    select 'uploads_failed', error_code, count(*), min(finished_at),
           case when count(*) = 1 then min(upload_id::text) end
      from data_uploads
     where tenant_id = ${tenantId}
       and upload_id >= ${firstIdAt(since.getTime() - weekMs)}
       and status = 'failed'
       and finished_at >= ${since}
       and (${ownerId ?? null}::text is null or user_id = ${ownerId ?? null})
     group by error_code`);
}

/** Of these jobs those whose upload waits for a person. */
export async function listJobsInReview(
  tx: Tx,
  { tenantId, uploadIds }: { tenantId: string; uploadIds: readonly string[] },
): Promise<string[]> {
  const rows = await tx.rows<{ jobId: string }>(sql`
    select job_id as "jobId"
      from data_uploads
     where tenant_id = ${tenantId}
       and upload_id = any(${uploadIds}::uuid[])
       and status = 'staging_complete'
       and review`);
  return rows.map(({ jobId }) => jobId);
}
