import { newId } from '../../lib/ids.ts';
import type { Database } from '../../lib/postgres/db.ts';
import type { Clock } from '../../lib/timing/clock.ts';
import { findApiKey, listApiKeys, listApiKeysOf, revokeApiKey } from './api-key-store.ts';
import { apiKeyPrefix, findApiKeyPrincipal } from './api-keys.ts';
import { tenancyErrors } from './errors.ts';
import { assertGrantable } from './people.ts';
import { type Admissions, createAdmissions, provisionTenant } from './provisioning.ts';
import { can } from './rights.ts';
import { findSessionPrincipal, sessionLifetimeSeconds, startSessionFor } from './sessions.ts';
import * as store from './store.ts';
import { createTokenVerifier, type TokenSettings } from './tokens.ts';
import {
  type ApiKey,
  apiKeyUserPrefix,
  type BeforeCommit,
  type PageRequest,
  type Plan,
  type Principal,
  type Tenant,
  type User,
  type Workspace,
} from './types.ts';

/** Turns what a request presents into a principal that may act. */
export interface Authenticator {
  fromBearer(presented: string): Promise<Principal>;
  fromSession(session: string): Promise<Principal>;
  /** Starts a session for a token or key; it ends no later than the token does. */
  startSession(presented: string, agent?: string): Promise<StartedSession>;
  admissions: Admissions;
}

export interface StartedSession {
  /** The value of the cookie. */
  session: string;
  principal: Principal;
  lifetimeSeconds: number;
}

export function createAuthenticator(options: {
  db: Database;
  clock: Clock;
  tokens: TokenSettings;
}): Authenticator {
  const { db, clock } = options;
  const verifier = createTokenVerifier(options.tokens, clock);
  const admissions = createAdmissions(db, clock);

  async function identify(presented: string): Promise<{ principal: Principal; endsAtMs: number }> {
    // A key's tenant exists as long as the key does, and a key is no user: there is nothing to provision. Its session
    // checks the key at every request, so it needs no end of its own.
    if (presented.startsWith(apiKeyPrefix)) {
      return { principal: await findApiKeyPrincipal(db, presented), endsAtMs: Number.POSITIVE_INFINITY };
    }
    const { principal: named, expiresAtMs, issuedAtMs } = await verifier.verifyWithTimes(presented);
    const principal = { ...named, issuedAtMs };
    await admissions.admit(principal);
    return { principal, endsAtMs: expiresAtMs };
  }

  return {
    admissions,
    fromBearer: async (presented) => (await identify(presented)).principal,
    async fromSession(session) {
      const principal = await findSessionPrincipal(db, session);
      if (!principal.userId.startsWith(apiKeyUserPrefix)) await admissions.admit(principal);
      return principal;
    },
    async startSession(presented, agent) {
      const { principal, endsAtMs } = await identify(presented);
      const leftSeconds = Math.floor((endsAtMs - clock.nowMs()) / 1000);
      // At least a second: a token may be within the tolerance of clocks that differ.
      const lifetimeSeconds = Math.max(1, Math.min(sessionLifetimeSeconds, leftSeconds));
      const session = await startSessionFor(db, principal, { lifetimeSeconds, agent });
      return { session, principal, lifetimeSeconds };
    },
  };
}

/** An operator sees and changes all tenants; everybody else sees only their own. */
export async function getTenant(db: Database, principal: Principal, tenantId: string): Promise<Tenant> {
  const all = can(principal.role, 'tenant.manage');
  const tenant = all
    ? await db.kernel((tx) => store.findTenant(tx, tenantId))
    : await db.tenant(principal.tenantId, (tx) => store.findTenant(tx, tenantId));
  return tenant ?? missingTenant(tenantId);
}

export function listTenants(db: Database, principal: Principal, page: PageRequest): Promise<Tenant[]> {
  if (can(principal.role, 'tenant.manage')) return db.kernel((tx) => store.listTenants(tx, page));
  return db.tenant(principal.tenantId, (tx) => store.listTenants(tx, page));
}

export function createTenant(
  db: Database,
  { tenantId, name, plan }: { tenantId: string; name: string; plan: Plan },
  beforeCommit?: BeforeCommit<Tenant>,
): Promise<Tenant> {
  return db.kernel(async (tx) => {
    if (!(await provisionTenant(tx, { tenantId, name, plan }))) {
      throw tenancyErrors.raise.tenant_exists(`The tenant ${tenantId} exists already`);
    }
    const tenant = (await store.findTenant(tx, tenantId)) ?? missingTenant(tenantId);
    await beforeCommit?.(tx, tenant);
    return tenant;
  });
}

export async function changeTenant(
  db: Database,
  change: { tenantId: string; name?: string; plan?: Plan; limits?: Record<string, number> },
): Promise<Tenant> {
  const tenant = await db.kernel((tx) => store.updateTenant(tx, change));
  return tenant ?? missingTenant(change.tenantId);
}

export function listWorkspaces(db: Database, tenantId: string, page: PageRequest): Promise<Workspace[]> {
  return db.tenant(tenantId, (tx) => store.listWorkspaces(tx, { tenantId, ...page }));
}

export function createWorkspace(
  db: Database,
  { tenantId, name }: { tenantId: string; name: string },
  beforeCommit?: BeforeCommit<Workspace>,
): Promise<Workspace> {
  return db.tenant(tenantId, async (tx) => {
    const workspace = await store.insertWorkspace(tx, { tenantId, workspaceId: newId(), name });
    if (!workspace) throw nameTaken(name);
    await beforeCommit?.(tx, workspace);
    return workspace;
  });
}

export async function renameWorkspace(
  db: Database,
  change: { tenantId: string; workspaceId: string; name: string },
): Promise<Workspace> {
  try {
    const workspace = await db.tenant(change.tenantId, (tx) => store.renameWorkspace(tx, change));
    return workspace ?? missingWorkspace(change.workspaceId);
  } catch (error) {
    if (sqlState(error) === '23505') throw nameTaken(change.name, error);
    throw error;
  }
}

export async function deleteWorkspace(
  db: Database,
  { tenantId, workspaceId }: { tenantId: string; workspaceId: string },
): Promise<void> {
  try {
    await db.tenant(tenantId, async (tx) => {
      await store.lockWorkspaceList(tx, tenantId);
      const ids = await store.listWorkspaceIds(tx, tenantId, 2);
      if (ids.length === 1 && ids[0] === workspaceId) {
        throw tenancyErrors.raise.last_workspace(`Workspace ${workspaceId} is the only one of its tenant`);
      }
      if (!(await store.deleteWorkspace(tx, { tenantId, workspaceId }))) missingWorkspace(workspaceId);
    });
  } catch (error) {
    if (sqlState(error) !== '23503') throw error;
    throw tenancyErrors.raise.workspace_in_use(`Workspace ${workspaceId} still has things in it`, {
      cause: error,
    });
  }
}

export function listUsers(db: Database, tenantId: string, page: PageRequest): Promise<User[]> {
  return db.tenant(tenantId, (tx) => store.listUsers(tx, { tenantId, ...page }));
}

export async function changeUser(
  { db, admissions }: { db: Database; admissions: Admissions },
  {
    principal,
    userId,
    disabled,
    operator,
    role,
  }: Omit<store.UserChange, 'tenantId'> & { principal: Principal },
): Promise<User> {
  const { tenantId } = principal;
  if (disabled === true && userId === principal.userId) {
    throw tenancyErrors.raise.user_not_changeable('You cannot disable yourself');
  }
  if (role !== undefined) {
    if (userId === principal.userId) {
      throw tenancyErrors.raise.user_not_changeable('You cannot change your own role');
    }
    assertGrantable(principal, role);
  }
  const byOperator = principal.role === 'operator';
  const changed = await db.tenant(tenantId, async (tx) => {
    const user = (await store.lockUser(tx, { tenantId, userId })) ?? missingUser(userId);
    if (user.operatorSince !== null && !byOperator) {
      throw tenancyErrors.raise.user_not_changeable(
        `The user ${userId} is an operator, whom only an operator can change; you are ${principal.role}`,
      );
    }
    return store.updateUser(tx, { tenantId, userId, disabled, operator, role, byOperator });
  });
  admissions.forget(tenantId, userId);
  return changed ?? missingUser(userId);
}

export function listKeys(db: Database, tenantId: string, page: PageRequest): Promise<ApiKey[]> {
  return db.tenant(tenantId, (tx) => listApiKeys(tx, { tenantId, ...page }));
}

const mostOwnKeys = 500;

/** Those that still work, of the user who asks. */
export function listOwnKeys(db: Database, user: { tenantId: string; userId: string }): Promise<ApiKey[]> {
  return db.tenant(user.tenantId, (tx) => listApiKeysOf(tx, { ...user, limit: mostOwnKeys }));
}

/** A user revokes what they made, whatever role they have now. */
export async function revokeOwnKey(
  db: Database,
  { tenantId, userId, keyId }: { tenantId: string; userId: string; keyId: string },
): Promise<void> {
  await db.tenant(tenantId, async (tx) => {
    const key = await findApiKey(tx, { tenantId, keyId });
    if (key?.userId !== userId) throw tenancyErrors.raise.api_key_not_found(`You have no API key ${keyId}`);
    await revokeApiKey(tx, { tenantId, keyId });
  });
}

/** Revoking a key twice is no error. */
export async function revokeKey(
  db: Database,
  { principal, keyId }: { principal: Pick<Principal, 'tenantId' | 'role'>; keyId: string },
): Promise<void> {
  const { tenantId, role } = principal;
  await db.tenant(tenantId, async (tx) => {
    const key = await findApiKey(tx, { tenantId, keyId });
    if (!key) throw tenancyErrors.raise.api_key_not_found(`There is no API key ${keyId}`);
    if (key.operatorOnly && role !== 'operator') {
      throw tenancyErrors.raise.operator_only(
        `The API key ${keyId} belongs to an operator, so only an operator can revoke it; you are ${role}`,
      );
    }
    await revokeApiKey(tx, { tenantId, keyId });
  });
}

function missingTenant(tenantId: string): never {
  throw tenancyErrors.raise.tenant_not_found(`There is no tenant ${tenantId}`);
}

function missingWorkspace(workspaceId: string): never {
  throw tenancyErrors.raise.workspace_not_found(`There is no workspace ${workspaceId}`);
}

function missingUser(userId: string): never {
  throw tenancyErrors.raise.user_not_found(`There is no user ${userId}`);
}

function nameTaken(name: string, cause?: unknown): Error {
  return tenancyErrors.raise.workspace_name_taken(`There is already a workspace named ${name}`, { cause });
}

function sqlState(error: unknown): unknown {
  return (error as { code?: unknown } | null)?.code;
}
