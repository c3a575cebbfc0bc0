import type { Findable } from '../../kernel/find/types.ts';
import { sql } from '../../lib/postgres/sql.ts';

export const adapterFindables: readonly Findable[] = [
  {
    kind: 'adapter',
    action: 'adapter.read',
    url: ({ id }) => `/adapters/${encodeURIComponent(id)}`,
    newest: ({ tenantId }, limit) => sql`
      select name as id, name, kind as more, null::text as within
        from adapters
       where tenant_id = ${tenantId}
       order by name
       limit ${limit}`,
  },
];
