import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { ItemKey } from '../types.ts';

export interface CallRow {
  eventId: number;
  provider: string;
  strategy: string;
  status: number | null;
  outcome: string;
  error: string | null;
  tookMs: number;
  createdAt: Date;
}

/** The calls that were made for one item, newest first. */
export function listCalls(
  tx: Tx,
  { tenantId, jobId, itemId, limit }: ItemKey & { limit: number },
): Promise<CallRow[]> {
  return tx.rows<CallRow>(sql`
    select e.event_id as "eventId", e.provider, e.strategy, e.status, e.outcome, e.error, e.took_ms as "tookMs",
           e.created_at as "createdAt"
      from search_events e
     where e.tenant_id = ${tenantId}
       and e.job_id = ${jobId}
       and ${itemId} = any(e.item_ids)
     order by e.event_id desc
     limit ${limit}`);
}
