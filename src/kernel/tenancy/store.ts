import type { Tx } from '../../lib/postgres/db.ts';
import { sql } from '../../lib/postgres/sql.ts';
import type { PageRequest, Plan, Principal, Role, Tenant, User, Workspace } from './types.ts';

const tenantColumns = sql`
  tenant_id as "tenantId", name, plan, limits, created_at as "createdAt", updated_at as "updatedAt"`;
const workspaceColumns = sql`workspace_id as "workspaceId", name, created_at as "createdAt", updated_at as "updatedAt"`;
const userColumns = sql`
  user_id as "userId", role, name, email, disabled_at as "disabledAt", operator_since as "operatorSince",
  invited_at as "invitedAt", created_at as "createdAt", last_seen_at as "lastSeenAt"`;

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
  /** The token states something that the row does not have: a newer role, or that the user is an operator. */
  isNews: boolean;
  name: string | null;
  email: string | null;
  disabledAt: Date | null;
  /** Last seen so long ago that the row is worth a write. */
  stale: boolean;
}

/** What the database knows of a principal; null when not even its tenant exists. */
export function findAdmission(
  tx: Tx,
  { tenantId, userId, role }: Pick<Principal, 'tenantId' | 'userId' | 'role'>,
  issuedAt: Date | null,
): Promise<Admission | null> {
  return tx.find<Admission>(sql`
    select u.user_id is not null as "userKnown",
           coalesce(
             ${issuedAt}::timestamptz > u.role_issued_at
             or (${issuedAt}::timestamptz = u.role_issued_at and not ${role} = any(u.roles_issued))
             or (${issuedAt}::timestamptz is not null
                 and ${role} = 'operator'
                 and (u.operator_since is null or u.disabled_at is not null)),
             false) as "isNews",
           u.name,
           u.email,
           u.disabled_at as "disabledAt",
           coalesce(u.last_seen_at < clock_timestamp() - interval '1 minute', true) as stale
      from tenants t
      left join users u on u.tenant_id = t.tenant_id and u.user_id = ${userId}
     where t.tenant_id = ${tenantId}`);
}

/** Tokens count seconds: of two roles from one second, the one that the row has had before is not newer. */
const isNewerRole = sql`
  excluded.role_issued_at > u.role_issued_at
             or (excluded.role_issued_at = u.role_issued_at and not excluded.role = any(u.roles_issued))`;

/**
 * Records a token. The newest one decides on the role, whichever is used last. A verified operator stays recognisable
 * as one, and what an admin did to them before that was known does not lock them out.
 */
export async function upsertUser(
  tx: Tx,
  principal: Principal,
  issuedAt: Date,
): Promise<{ disabledAt: Date | null }> {
  const row = await tx.find<{ disabledAt: Date | null }>(sql`
    insert into users as u (tenant_id, user_id, role, name, email, role_issued_at, roles_issued, operator_since)
    values (${principal.tenantId}, ${principal.userId}, ${principal.role}, ${principal.name ?? null},
            ${principal.email ?? null}, ${issuedAt}, array[${principal.role}],
            case when ${principal.role} = 'operator' then clock_timestamp() end)
    on conflict (tenant_id, user_id) do update
       set role = case when ${isNewerRole} then excluded.role else u.role end,
           role_since = case
             when (${isNewerRole}) and excluded.role <> u.role then clock_timestamp()
             else u.role_since
           end,
           role_issued_at = greatest(u.role_issued_at, excluded.role_issued_at),
           roles_issued = case
             when excluded.role_issued_at > u.role_issued_at then excluded.roles_issued
             when ${isNewerRole} then u.roles_issued || excluded.roles_issued
             else u.roles_issued
           end,
           operator_since = coalesce(u.operator_since, excluded.operator_since),
           disabled_at = case
             when excluded.role = 'operator' and not u.disabled_by_operator then null
             else u.disabled_at
           end,
           name = coalesce(excluded.name, u.name),
           email = coalesce(excluded.email, u.email),
           last_seen_at = clock_timestamp()
    returning disabled_at as "disabledAt"`);
  return { disabledAt: row?.disabledAt ?? null };
}

/** A session says nothing new about its user, except that they are here. */
export async function touchUser(
  tx: Tx,
  { tenantId, userId }: Pick<Principal, 'tenantId' | 'userId'>,
): Promise<void> {
  await tx.run(sql`
    update users
       set last_seen_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and user_id = ${userId}`);
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

/** Locked, so that an operator who arrives meanwhile is seen by the change that follows. */
export function lockUser(
  tx: Tx,
  { tenantId, userId }: { tenantId: string; userId: string },
): Promise<User | null> {
  return tx.find<User>(sql`
    select ${userColumns}
      from users
     where tenant_id = ${tenantId}
       and user_id = ${userId}
       for update`);
}

export interface UserChange {
  tenantId: string;
  userId: string;
  disabled?: boolean | undefined;
  /** Only ever false: a verified token makes an operator. */
  operator?: false | undefined;
  /** Until a newer token says otherwise. Sessions follow it at once. */
  role?: Role | undefined;
}

export function updateUser(
  tx: Tx,
  { tenantId, userId, disabled, operator, role, byOperator }: UserChange & { byOperator: boolean },
): Promise<User | null> {
  return tx.find<User>(sql`
    update users
       set disabled_at = case
             when ${disabled ?? null}::boolean then coalesce(disabled_at, clock_timestamp())
             when ${disabled ?? null}::boolean is null then disabled_at
           end,
           disabled_by_operator = case
             when ${disabled ?? null}::boolean then disabled_by_operator or ${byOperator}
             when ${disabled ?? null}::boolean is null then disabled_by_operator
             else false
           end,
           operator_since = case when ${operator === undefined} then operator_since end,
           role = coalesce(${role ?? null}, role),
           role_issued_at = case when ${role === undefined} then role_issued_at else clock_timestamp() end,
           roles_issued = case when ${role === undefined} then roles_issued else array[${role ?? ''}] end,
           role_since = case when ${role === undefined} then role_since else clock_timestamp() end
     where tenant_id = ${tenantId}
       and user_id = ${userId}
    returning ${userColumns}`);
}
