import { createHash } from 'node:crypto';
import { newId } from '../../lib/ids.ts';
import type { Database, Tx } from '../../lib/postgres/db.ts';
import type { Clock } from '../../lib/timing/clock.ts';
import { tenancyErrors, userDisabled } from './errors.ts';
import {
  type Admission,
  findAdmission,
  insertTenantIfMissing,
  insertWorkspace,
  isTenantErased,
  touchUser,
  upsertUser,
} from './store.ts';
import { isPlainId, type Plan, type Principal, plainIdRule } from './types.ts';

const defaultWorkspaceName = 'Default';

/** How long an admission is remembered: for as long, a disabled user may still get in. */
const admissionMs = 10_000;
const maxAdmissions = 10_000;

export interface Admissions {
  /** Creates the tenant and the user of a principal if they are new; refuses disabled users and erased tenants. */
  admit(principal: Principal): Promise<void>;
  /** After a change to the user, so that this process notices at once. */
  forget(tenantId: string, userId: string): void;
  /** After the erasure of a tenant. */
  forgetTenant(tenantId: string): void;
}

export function createAdmissions(db: Database, clock: Clock): Admissions {
  const admitted = new Map<string, { untilMs: number; principal: Principal }>();

  function remember(key: string, principal: Principal): void {
    admitted.delete(key);
    // Insertion order is age: the first entry is the oldest, and dropping it only costs a look into the database.
    const oldest = admitted.size >= maxAdmissions ? admitted.keys().next().value : undefined;
    if (oldest !== undefined) admitted.delete(oldest);
    admitted.set(key, { untilMs: clock.nowMs() + admissionMs, principal });
  }

  function forgetWhere(matches: (principal: Principal) => boolean): void {
    for (const [key, { principal }] of admitted) if (matches(principal)) admitted.delete(key);
  }

  return {
    async admit(principal) {
      const key = admissionKey(principal);
      const known = admitted.get(key);
      if (known && known.untilMs > clock.nowMs()) return;
      await db.kernel((tx) => provision(tx, principal, issuedAtOf(principal, clock)));
      remember(key, principal);
    },
    forget: (tenantId, userId) => forgetWhere((p) => p.tenantId === tenantId && p.userId === userId),
    forgetTenant: (tenantId) => forgetWhere((p) => p.tenantId === tenantId),
  };
}

/** Creates the tenant with its first workspace unless it exists; refuses an erased one. True when it is new. */
export async function provisionTenant(
  tx: Tx,
  { tenantId, name, plan }: { tenantId: string; name: string; plan: Plan },
): Promise<boolean> {
  const isNew = await insertTenantIfMissing(tx, { tenantId, name, plan });
  if (!isNew) return false;
  // Only now: a tenant that exists keeps its id.
  if (!isPlainId(tenantId)) {
    throw tenancyErrors.raise.tenant_id_refused(
      `The tenant id ${visibly(tenantId)} is not allowed for a new tenant; it must be ${plainIdRule}`,
    );
  }
  // Checked after the insert, which has waited for an erasure in progress at its unique index.
  if (await isTenantErased(tx, tenantHashOf(tenantId))) {
    throw tenancyErrors.raise.tenant_erased(`The tenant ${tenantId} was erased and cannot come back`);
  }
  await insertWorkspace(tx, { tenantId, workspaceId: newId(), name: defaultWorkspaceName });
  return true;
}

/** With everything that is not printable ASCII as an escape: the reader could not see what is wrong. */
function visibly(text: string): string {
  return JSON.stringify(text).replace(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

export function tenantHashOf(tenantId: string): string {
  return createHash('sha256').update(tenantId).digest('hex');
}

/** Null for a session, which follows what tokens have stated. */
function issuedAtOf({ issuedAtMs, via }: Principal, clock: Clock): Date | null {
  if (issuedAtMs !== undefined) return new Date(issuedAtMs);
  return via === 'session' ? null : new Date(clock.nowMs());
}

async function provision(tx: Tx, principal: Principal, issuedAt: Date | null): Promise<void> {
  const { tenantId } = principal;
  const known = await findAdmission(tx, principal, issuedAt);
  if (!known) await provisionTenant(tx, { tenantId, name: tenantId, plan: 'free' });
  const { disabledAt } = await recordUser(tx, { known, principal, issuedAt });
  if (disabledAt !== null) throw userDisabled(principal.userId, disabledAt);
}

async function recordUser(
  tx: Tx,
  { known, principal, issuedAt }: { known: Admission | null; principal: Principal; issuedAt: Date | null },
): Promise<{ disabledAt: Date | null }> {
  if (!known?.userKnown) return upsertUser(tx, principal, issuedAt ?? new Date(0));
  if (issuedAt === null) {
    if (known.stale) await touchUser(tx, principal);
    return known;
  }
  return isWorthAWrite(known, principal) ? upsertUser(tx, principal, issuedAt) : known;
}

function isWorthAWrite(known: Admission, principal: Principal): boolean {
  if (known.isNews || known.stale) return true;
  if (principal.name !== undefined && principal.name !== known.name) return true;
  return principal.email !== undefined && principal.email !== known.email;
}

/** Ids hold no control characters, so the separator cannot be part of one. */
function admissionKey(principal: Principal): string {
  const { tenantId, userId, role, name, email, issuedAtMs } = principal;
  return [tenantId, userId, role, name ?? '', email ?? '', issuedAtMs ?? ''].join('\0');
}
