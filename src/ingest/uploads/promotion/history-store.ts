import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { DaySpend, Upload } from '../types.ts';

/** What the account of an upload spent on each day from one day to before another. */
export function listDaySpend(
  tx: Tx,
  { tenantId, workspaceId, clientId, platform }: Upload,
  { from, before }: { from: string; before: string },
): Promise<DaySpend[]> {
  return tx.rows<DaySpend>(sql`
    select m.metric_date as day, m.currency, sum(m.spend)::text as spend
      from daily_metrics m
     where m.tenant_id = ${tenantId}
       and m.workspace_id = ${workspaceId}
       and m.client_id is not distinct from ${clientId}::uuid
       and m.platform = ${platform}
       and m.metric_date >= ${from}::date
       and m.metric_date < ${before}::date
       and m.spend is not null
     group by m.metric_date, m.currency
     order by m.metric_date`);
}
