import { sql } from '../../lib/postgres/sql.ts';
import type { Findable } from './types.ts';

/** What belongs to no house; jobs have a way of their own. */
export const kernelFindables: readonly Findable[] = [
  {
    kind: 'webhook',
    action: 'webhook.manage',
    url: ({ id }) => `/webhooks?endpoint=${id}`,
    newest: ({ tenantId }, limit) => sql`
      select webhook_id::text as id, url as name, description as more, null::text as within
        from webhook_endpoints
       where tenant_id = ${tenantId}
       order by webhook_id desc
       limit ${limit}`,
  },
  {
    kind: 'workspace',
    action: 'workspace.read',
    url: ({ id }) => `/uploads?workspace=${id}`,
    newest: ({ tenantId }, limit) => sql`
      select workspace_id::text as id, name, null::text as more, null::text as within
        from workspaces
       where tenant_id = ${tenantId}
       order by workspace_id desc
       limit ${limit}`,
  },
  {
    kind: 'user',
    action: 'user.read',
    url: () => '/settings?tab=users',
    newest: ({ tenantId }, limit) => sql`
      select user_id as id, coalesce(name, email, user_id) as name, email as more, null::text as within
        from users
       where tenant_id = ${tenantId}
       order by user_id
       limit ${limit}`,
  },
];
