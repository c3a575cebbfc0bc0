import type { Findable } from '../../kernel/find/types.ts';
import { sql } from '../../lib/postgres/sql.ts';

export const connectorFindables: readonly Findable[] = [
  {
    kind: 'connector',
    action: 'connector.read',
    url: ({ id }) => `/connectors/${encodeURIComponent(id)}`,
    newest: ({ tenantId }, limit) => sql`
      select connector_id as id, name, airbyte_connection_id || ' ' || external_account_id as more,
             null::text as within
        from connectors
       where tenant_id = ${tenantId}
       order by connector_id desc
       limit ${limit}`,
  },
];
