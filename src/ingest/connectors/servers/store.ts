import type { Tx } from '../../../lib/postgres/db.ts';
import { columnList, sql } from '../../../lib/postgres/sql.ts';
import type { AirbyteServer, NewServer, ServerKey } from './types.ts';

const columns = columnList(
  'tenant_id server base_url auth identity secret_name workspace_id created_by created_at updated_at',
  's.',
);

export async function putServer(tx: Tx, server: NewServer): Promise<AirbyteServer & { isNew: boolean }> {
  const row = await tx.find<AirbyteServer & { isNew: boolean }>(sql`
    insert into airbyte_servers as s (
      tenant_id, server, base_url, auth, identity, secret_name, workspace_id, created_by)
    values (
      ${server.tenantId}, ${server.server}, ${server.baseUrl}, ${server.auth}, ${server.identity},
      ${server.secretName}, ${server.workspaceId}, ${server.createdBy})
    on conflict (tenant_id, server) do update
       set base_url = excluded.base_url,
           auth = excluded.auth,
           identity = excluded.identity,
           secret_name = excluded.secret_name,
           workspace_id = excluded.workspace_id,
           updated_at = clock_timestamp()
    returning ${columns}, s.xmax = 0 as "isNew"`);
  if (!row) throw new Error(`The row of server ${server.server} was not returned by its own insert`);
  return row;
}

export function findServer(tx: Tx, { tenantId, server }: ServerKey): Promise<AirbyteServer | null> {
  return tx.find<AirbyteServer>(sql`
    select ${columns}
      from airbyte_servers s
     where s.tenant_id = ${tenantId}
       and s.server = ${server}`);
}

/** By name; a tenant has few. */
export function listServers(
  tx: Tx,
  { tenantId, limit }: { tenantId: string; limit: number },
): Promise<AirbyteServer[]> {
  return tx.rows<AirbyteServer>(sql`
    select ${columns}
      from airbyte_servers s
     where s.tenant_id = ${tenantId}
     order by s.server
     limit ${limit}`);
}

export async function deleteServer(tx: Tx, { tenantId, server }: ServerKey): Promise<boolean> {
  const deleted = await tx.run(sql`
    delete from airbyte_servers
     where tenant_id = ${tenantId}
       and server = ${server}`);
  return deleted === 1;
}

/** How many connectors use it, counted up to a thousand. */
export async function countUsers(tx: Tx, { tenantId, server }: ServerKey): Promise<number> {
  const row = await tx.find<{ count: number }>(sql`
    select count(*) as count
      from (select
              from connectors
             where tenant_id = ${tenantId}
               and airbyte_server = ${server}
             limit 1000) used`);
  return row?.count ?? 0;
}
