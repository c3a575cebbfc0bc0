import type { Findable } from '../../kernel/find/types.ts';
import { sql } from '../../lib/postgres/sql.ts';

export const pullFindables: readonly Findable[] = [
  {
    kind: 'upload_source',
    action: 'source.read',
    url: ({ id }) => `/uploads/sources?source=${id}`,
    newest: ({ tenantId }, limit) => sql`
      select source_id::text as id, name, kind || ' ' || platform as more, null::text as within
        from upload_sources
       where tenant_id = ${tenantId}
       order by source_id desc
       limit ${limit}`,
  },
];
