import type { Findable } from '../../kernel/find/types.ts';
import { sql } from '../../lib/postgres/sql.ts';

const row = sql`
  i.job_id::text as id, coalesce(nullif(i.file_name, ''), i.processor) as name, i.processor as more,
  null::text as within`;

export const itemFindables: readonly Findable[] = [
  {
    kind: 'job',
    action: 'item.read',
    url: ({ id }) => `/items/${id}`,
    newest: ({ tenantId, ownerId }, limit) => sql`
      select ${row}
        from item_jobs i
       where i.tenant_id = ${tenantId}
         and i.ingesting_by is null
         and (${ownerId ?? null}::text is null or i.user_id = ${ownerId ?? null})
       order by i.job_id desc
       limit ${limit}`,
    one: ({ tenantId, ownerId }, id) => sql`
      select ${row}
        from item_jobs i
       where i.tenant_id = ${tenantId}
         and i.job_id = ${id}
         and i.ingesting_by is null
         and (${ownerId ?? null}::text is null or i.user_id = ${ownerId ?? null})`,
  },
];
