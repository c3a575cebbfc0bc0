import type { Tx } from '../../lib/postgres/db.ts';
import { sql } from '../../lib/postgres/sql.ts';
import type { PageRequest, Plan, Principal, Role, Tenant, User, Workspace } from './types.ts';

const tenantColumns = sql`
  tenant_id as "tenantId", name, plan, limits, created_at as "createdAt", updated_at as "updatedAt"`;
const workspaceColumns = sql`workspace_id as "workspaceId", name, created_at as "createdAt", updated_at as "updatedAt"`;
const userColumns = sql`
  user_id as "userId", role, name, email, disabled_at as "disabledAt",
  created_at as "createdAt", last_seen_at as "lastSeenAt"`;

/** False when the tenant exists already, or another transaction has just created it. */
export async function insertTenantIfMissing(
  tx: Tx,
  { tenantId, name, plan }: { tenantId: string; name: string; plan: Plan },
): Promise<boolean> {
  const inserted = await tx.run(sql`
    insert into tenants (tenant_id, name, plan)
    values (${tenantId}, ${name}, ${plan})
    on conflict (tenant_id) do nothing`);
  return inserted === 1;
}

export async function isTenantErased(tx: Tx, tenantHash: string): Promise<boolean> {
  const row = await tx.find(sql`select tenant_hash from erased_tenants where tenant_hash = ${tenantHash}`);
  return row !== null;
}

export function findTenant(tx: Tx, tenantId: string): Promise<Tenant | null> {
  return tx.find<Tenant>(sql`
    select ${tenantColumns}
      from tenants
     where tenant_id = ${tenantId}`);
}

export function listTenants(tx: Tx, { limit, after }: PageRequest): Promise<Tenant[]> {
  return tx.rows<Tenant>(sql`
    select ${tenantColumns}
      from tenants
     where tenant_id > ${after ?? ''}
     order by tenant_id
     limit ${limit}`);
}

export function updateTenant(
  tx: Tx,
  {
    tenantId,
    name,
    plan,
    limits,
  }: { tenantId: string; name?: string; plan?: Plan; limits?: Record<string, number> },
): Promise<Tenant | null> {
  return tx.find<Tenant>(sql`
    update tenants
       set name = coalesce(${name ?? null}, name),
           plan = coalesce(${plan ?? null}, plan),
           limits = coalesce(${limits === undefined ? null : JSON.stringify(limits)}::jsonb, limits),
           updated_at = clock_timestamp()
     where tenant_id = ${tenantId}
    returning ${tenantColumns}`);
}

export interface Admission {
  userKnown: boolean;
  role: Role | null;
  name: string | null;
  email: string | null;
  disabledAt: Date | null;
  /** Last seen so long ago that the row is worth a write. */
  stale: boolean;
}

/** What the database knows of a principal; null when not even its tenant exists. */
export function findAdmission(
  tx: Tx,
  { tenantId, userId }: Pick<Principal, 'tenantId' | 'userId'>,
): Promise<Admission | null> {
  return tx.find<Admission>(sql`
    select u.user_id is not null as "userKnown",
           u.role,
           u.name,
           u.email,
           u.disabled_at as "disabledAt",
           coalesce(u.last_seen_at < clock_timestamp() - interval '1 minute', true) as stale
      from tenants t
      left join users u on u.tenant_id = t.tenant_id and u.user_id = ${userId}
     where t.tenant_id = ${tenantId}`);
}

export async function upsertUser(tx: Tx, principal: Principal): Promise<{ disabledAt: Date | null }> {
  const row = await tx.find<{ disabledAt: Date | null }>(sql`
    insert into users (tenant_id, user_id, role, name, email)
    values (${principal.tenantId}, ${principal.userId}, ${principal.role}, ${principal.name ?? null},
            ${principal.email ?? null})
    on conflict (tenant_id, user_id) do update
       set role = excluded.role,
           name = coalesce(excluded.name, users.name),
           email = coalesce(excluded.email, users.email),
           last_seen_at = clock_timestamp()
    returning disabled_at as "disabledAt"`);
  return { disabledAt: row?.disabledAt ?? null };
}

/** Null when the name is taken. */
export function insertWorkspace(
  tx: Tx,
  { tenantId, workspaceId, name }: { tenantId: string; workspaceId: string; name: string },
): Promise<Workspace | null> {
  return tx.find<Workspace>(sql`
    insert into workspaces (tenant_id, workspace_id, name)
    values (${tenantId}, ${workspaceId}, ${name})
    on conflict (tenant_id, name) do nothing
    returning ${workspaceColumns}`);
}

export function listWorkspaces(
  tx: Tx,
  { tenantId, limit, after }: PageRequest & { tenantId: string },
): Promise<Workspace[]> {
  return tx.rows<Workspace>(sql`
    select ${workspaceColumns}
      from workspaces
     where tenant_id = ${tenantId}
       and (${after}::uuid is null or workspace_id > ${after}::uuid)
     order by workspace_id
     limit ${limit}`);
}

export function renameWorkspace(
  tx: Tx,
  { tenantId, workspaceId, name }: { tenantId: string; workspaceId: string; name: string },
): Promise<Workspace | null> {
  return tx.find<Workspace>(sql`
    update workspaces
       set name = ${name},
           updated_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and workspace_id = ${workspaceId}
    returning ${workspaceColumns}`);
}

/** Two deletions at once must not take the last two workspaces: they queue here. */
export async function lockWorkspaceList(tx: Tx, tenantId: string): Promise<void> {
  await tx.run(sql`select pg_advisory_xact_lock(hashtextextended(${`workspaces:${tenantId}`}, 0))`);
}

export async function listWorkspaceIds(tx: Tx, tenantId: string, limit: number): Promise<string[]> {
  const rows = await tx.rows<{ id: string }>(sql`
    select workspace_id as id
      from workspaces
     where tenant_id = ${tenantId}
     limit ${limit}`);
  return rows.map((row) => row.id);
}

export async function deleteWorkspace(
  tx: Tx,
  { tenantId, workspaceId }: { tenantId: string; workspaceId: string },
): Promise<boolean> {
  const deleted = await tx.run(sql`
    delete from workspaces
     where tenant_id = ${tenantId}
       and workspace_id = ${workspaceId}`);
  return deleted === 1;
}

export function listUsers(
  tx: Tx,
  { tenantId, limit, after }: PageRequest & { tenantId: string },
): Promise<User[]> {
  return tx.rows<User>(sql`
    select ${userColumns}
      from users
     where tenant_id = ${tenantId}
       and user_id > ${after ?? ''}
     order by user_id
     limit ${limit}`);
}

export function findUser(
  tx: Tx,
  { tenantId, userId }: { tenantId: string; userId: string },
): Promise<User | null> {
  return tx.find<User>(sql`
    select ${userColumns}
      from users
     where tenant_id = ${tenantId}
       and user_id = ${userId}`);
}

export function setUserDisabled(
  tx: Tx,
  { tenantId, userId, disabled }: { tenantId: string; userId: string; disabled: boolean },
): Promise<User | null> {
  return tx.find<User>(sql`
    update users
       set disabled_at = case when ${disabled} then coalesce(disabled_at, clock_timestamp()) end
     where tenant_id = ${tenantId}
       and user_id = ${userId}
    returning ${userColumns}`);
}
