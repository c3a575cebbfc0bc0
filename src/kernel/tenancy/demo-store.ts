import type { Tx } from '../../lib/postgres/db.ts';
import { sql } from '../../lib/postgres/sql.ts';

/** Whether the tenant is the demo's and this `host:port` its own servers: nobody else may call this machine. */
export async function isDemoHost(
  tx: Tx,
  { tenantId, host }: { tenantId: string; host: string },
): Promise<boolean> {
  const row = await tx.find<{ demoPort: number }>(sql`
    select demo_port as "demoPort"
      from tenants
     where tenant_id = ${tenantId}
       and demo_port is not null`);
  return row !== null && host === `127.0.0.1:${row.demoPort}`;
}

/** The tenant of the demo; null: there is none. `port` is null for a tenant of that name that is somebody's own. */
export async function findDemo(tx: Tx, tenantId: string): Promise<{ port: number | null } | null> {
  return tx.find<{ port: number | null }>(sql`
    select demo_port as port
      from tenants
     where tenant_id = ${tenantId}`);
}

export async function setDemoPort(
  tx: Tx,
  { tenantId, port }: { tenantId: string; port: number },
): Promise<void> {
  await tx.run(sql`
    update tenants
       set demo_port = ${port}
     where tenant_id = ${tenantId}`);
}

/** For a tenant that anybody may make again. */
export async function forgetErasure(tx: Tx, tenantHash: string): Promise<void> {
  await tx.run(sql`
    delete from erased_tenants
     where tenant_hash = ${tenantHash}`);
}
