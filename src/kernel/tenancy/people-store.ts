import type { Tx } from '../../lib/postgres/db.ts';
import { sql } from '../../lib/postgres/sql.ts';
import type { Role } from './types.ts';

export interface UserKey {
  tenantId: string;
  userId: string;
}

export interface InvitedUser extends UserKey {
  role: Role;
  name: string | null;
  email: string | null;
}

/** False when the user exists and is no open invitation: a link for them would let its holder act as them. */
export async function upsertInvitedUser(tx: Tx, user: InvitedUser): Promise<boolean> {
  const { tenantId, userId, role, name, email } = user;
  const written = await tx.run(sql`
    insert into users as u (tenant_id, user_id, role, name, email, role_issued_at, roles_issued, invited_at,
                            operator_since)
    values (${tenantId}, ${userId}, ${role}, ${name}, ${email}, clock_timestamp(), array[${role}], clock_timestamp(),
            case when ${role} = 'operator' then clock_timestamp() end)
    on conflict (tenant_id, user_id) do update
       set role = excluded.role,
           role_issued_at = excluded.role_issued_at,
           roles_issued = excluded.roles_issued,
           role_since = clock_timestamp(),
           operator_since = excluded.operator_since,
           name = coalesce(excluded.name, u.name),
           email = coalesce(excluded.email, u.email),
           invited_at = excluded.invited_at
     where u.invited_at is not null
       and u.disabled_at is null`);
  return written === 1;
}

/** The invited person has come. */
export async function acceptInvitation(tx: Tx, { tenantId, userId }: UserKey): Promise<void> {
  await tx.run(sql`
    update users
       set invited_at = null,
           last_seen_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and user_id = ${userId}
       and invited_at is not null`);
}

export async function deleteLoginLinks(tx: Tx, { tenantId, userId }: UserKey): Promise<void> {
  await tx.run(sql`delete from login_links where tenant_id = ${tenantId} and user_id = ${userId}`);
}

/** With everything that lets the person in; keys that were made with their keys are theirs too. */
export async function deleteUser(tx: Tx, { tenantId, userId }: UserKey): Promise<boolean> {
  await deleteLoginLinks(tx, { tenantId, userId });
  await tx.run(sql`delete from sessions where tenant_id = ${tenantId} and user_id = ${userId}`);
  await tx.run(sql`
    update api_keys
       set revoked_at = coalesce(revoked_at, clock_timestamp())
     where tenant_id = ${tenantId}
       and user_id = ${userId}`);
  return (await tx.run(sql`delete from users where tenant_id = ${tenantId} and user_id = ${userId}`)) === 1;
}
