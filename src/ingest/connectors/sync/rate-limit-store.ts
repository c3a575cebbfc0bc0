import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { RateLimitSaid } from '../airbyte/types.ts';

export interface SavedRateLimit {
  headers: Record<string, string>;
  status: number;
  saidAt: Date;
}

/** What the dependency last said about its rate limit, to any process. */
export function findRateLimit(tx: Tx, dependency: string): Promise<SavedRateLimit | null> {
  return tx.find<SavedRateLimit>(sql`
    select headers, status, said_at as "saidAt"
      from dependency_rate_limits
     where dependency = ${dependency}`);
}

/** Of two processes, the later word counts. */
export async function saveRateLimit(
  tx: Tx,
  dependency: string,
  { headers, status, at }: RateLimitSaid,
): Promise<void> {
  await tx.run(sql`
    insert into dependency_rate_limits (dependency, headers, status, said_at)
    values (${dependency}, ${JSON.stringify(headers)}::jsonb, ${status}, ${at})
    on conflict (dependency) do update
       set headers = excluded.headers,
           status = excluded.status,
           said_at = excluded.said_at
     where dependency_rate_limits.said_at < excluded.said_at`);
}
