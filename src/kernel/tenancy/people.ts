import type { Database } from '../../lib/postgres/db.ts';
import { tenancyErrors } from './errors.ts';
import { deleteLoginLinks, deleteUser, upsertInvitedUser } from './people-store.ts';
import type { Admissions } from './provisioning.ts';
import { grantableRoles } from './rights.ts';
import { insertNewLink } from './sessions.ts';
import { lockUser } from './store.ts';
import { apiKeyUserPrefix, isPlainId, type Principal, plainIdRule, type Role } from './types.ts';

export interface Invitation {
  userId: string;
  role: Role;
  /** Of the link, here and never again: only its hash is stored. */
  code: string;
  expiresAt: Date;
}

const invitationSeconds = 7 * 24 * 3600;

/**
 * Creates the user and a link that logs them in once. Somebody who was invited before and has not come gets a new link,
 * and the old one stops working.
 */
export async function inviteUser(
  db: Database,
  asked: { principal: Principal; userId: string; role: Role; name: string | null; email: string | null },
): Promise<Invitation> {
  const { principal, userId, role, name, email } = asked;
  const { tenantId } = principal;
  assertGrantable(principal, role);
  if (!isPlainId(userId) || userId.startsWith(apiKeyUserPrefix)) {
    throw tenancyErrors.raise.user_id_refused(
      `The user id is not allowed; it must be ${plainIdRule}, and not begin with ${apiKeyUserPrefix}`,
    );
  }
  return db.kernel(async (tx) => {
    if (!(await upsertInvitedUser(tx, { tenantId, userId, role, name, email }))) {
      throw tenancyErrors.raise.user_exists(`There is already a user ${userId}`);
    }
    await deleteLoginLinks(tx, { tenantId, userId });
    const link = await insertNewLink(tx, { tenantId, userId, role }, invitationSeconds);
    return { userId, role, ...link };
  });
}

/** Nobody hands out rights that they do not have. */
export function assertGrantable(principal: Pick<Principal, 'role'>, role: Role): void {
  const allowed = grantableRoles(principal.role);
  if (allowed.includes(role)) return;
  throw tenancyErrors.raise.role_not_grantable(
    `The role ${principal.role} cannot give the role ${role}; allowed: ${allowed.join(', ') || 'none'}`,
  );
}

/** A valid token brings the user back: whoever issues tokens decides on that. */
export async function removeUser(
  { db, admissions }: { db: Database; admissions: Admissions },
  { principal, userId }: { principal: Principal; userId: string },
): Promise<void> {
  const { tenantId } = principal;
  if (userId === principal.userId)
    throw tenancyErrors.raise.user_not_changeable('You cannot remove yourself');
  await db.kernel(async (tx) => {
    const user = await lockUser(tx, { tenantId, userId });
    if (!user) throw tenancyErrors.raise.user_not_found(`There is no user ${userId}`);
    if (user.operatorSince !== null && principal.role !== 'operator') {
      throw tenancyErrors.raise.user_not_changeable(
        `The user ${userId} is an operator, whom only an operator can remove; you are ${principal.role}`,
      );
    }
    await deleteUser(tx, { tenantId, userId });
  });
  admissions.forget(tenantId, userId);
}
