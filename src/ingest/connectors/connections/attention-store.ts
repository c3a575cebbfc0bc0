import type { Attention, Scope } from '../../../kernel/stats/types.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';

/** Connectors that are on and whose newest sync failed, by error code; their one newest job each is read. */
export function listConnectorAttention(tx: Tx, { tenantId, ownerId }: Scope): Promise<Attention[]> {
  return tx.rows<Attention>(sql`
    select 'connectors_failing' as kind, j.error_code as code, count(*) as count,
           min(coalesce(j.finished_at, j.updated_at)) as "oldestAt",
           case when count(*) = 1 then min(c.connector_id) end as "subjectId"
      from connectors c
     cross join lateral (
        select status, error_code, finished_at, updated_at, user_id
          from ingestion_jobs
         where tenant_id = c.tenant_id
           and connector_id = c.connector_id
         order by job_id desc
         limit 1) j
     where c.tenant_id = ${tenantId}
       and c.enabled
       and j.status in ('failed', 'dead_letter')
       and (${ownerId ?? null}::text is null or j.user_id = ${ownerId ?? null})
     group by j.error_code`);
}
