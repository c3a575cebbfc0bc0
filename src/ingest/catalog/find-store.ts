import type { Findable } from '../../kernel/find/types.ts';
import { sql } from '../../lib/postgres/sql.ts';

export const catalogFindables: readonly Findable[] = [
  {
    kind: 'catalog',
    action: 'catalog.read',
    url: ({ id }) => `/catalogs?catalog=${encodeURIComponent(id)}`,
    newest: ({ tenantId }, limit) => sql`
      select name as id, name, file_name as more, null::text as within
        from catalogs
       where tenant_id = ${tenantId}
       order by name
       limit ${limit}`,
  },
];
