import type { Database } from '../../../lib/postgres/db.ts';
import type { Clock } from '../../../lib/timing/clock.ts';
import { installationOperator } from '../login-links.ts';
import { acceptInvitation } from '../people-store.ts';
import type { Admissions } from '../provisioning.ts';
import { deleteSessionsOf } from '../session-store.ts';
import { sessionLifetimeSeconds, startSessionFor } from '../sessions.ts';
import { apiKeyUserPrefix, isUsableId, type Principal } from '../types.ts';
import { oidcErrors } from './errors.ts';
import {
  type Claims,
  claimAt,
  createOidcProvider,
  type OidcProvider,
  type SignInMemory,
} from './provider.ts';
import { parseRoleMapping, type RoleRule, roleOf } from './role-mapping.ts';
import { type OidcConfig, tenantClaimOf } from './settings.ts';

/** Sign-in with the provider of the settings. */
export interface OidcSignIn {
  /** For the button: "Sign in with …". */
  name: string;
  begin: OidcProvider['begin'];
  /** Returns the value of the session cookie. */
  finish(
    query: string,
    memory: SignInMemory,
    agent: string | undefined,
  ): Promise<{ session: string; lifetimeSeconds: number }>;
}

export interface SignInDeps {
  db: Database;
  clock: Clock;
  admissions: Admissions;
}

/** Null when no provider is set. */
export function createOidcSignIn(config: OidcConfig, deps: SignInDeps): OidcSignIn | null {
  const { oidcIssuer: issuer, oidcClientId: clientId } = config;
  const rules = config.oidcRoles === null ? null : parseRoleMapping(config.oidcRoles);
  if (issuer === null || clientId === null || rules === null) return null;
  const provider = createOidcProvider(
    {
      issuer,
      clientId,
      clientSecret: config.oidcClientSecret,
      scopes: config.oidcScopes,
      groupsClaim: config.oidcGroupsClaim,
    },
    deps.clock,
  );
  return {
    name: config.oidcName,
    begin: provider.begin,
    finish: async (query, memory, agent) =>
      admit(await provider.finish(query, memory), { ...deps, config, rules, agent }),
  };
}

/** The role counts as issued now: at every sign-in the groups of that moment decide, whatever was before. */
async function admit(
  claims: Claims,
  deps: SignInDeps & { config: OidcConfig; rules: readonly RoleRule[]; agent: string | undefined },
) {
  const { db, clock, admissions, config, rules, agent } = deps;
  const person = personOf(claims, config);
  const groups = groupsOf(claimAt(claims, config.oidcGroupsClaim));
  const role = roleOf(groups, rules);
  if (role === null) {
    // Who has lost the last group has lost what they could do with it.
    await db.kernel((tx) => deleteSessionsOf(tx, person));
    throw oidcErrors.raise.oidc_role_missing(`None of the groups of ${person.userId} has a role here`);
  }
  const principal: Principal = { ...person, role, groups, via: 'session', issuedAtMs: clock.nowMs() };
  await admissions.admit(principal);
  await db.kernel((tx) => acceptInvitation(tx, person));
  const session = await startSessionFor(db, principal, {
    lifetimeSeconds: sessionLifetimeSeconds,
    agent,
  });
  return { session, lifetimeSeconds: sessionLifetimeSeconds };
}

function personOf(claims: Claims, config: OidcConfig) {
  const tenantClaim = tenantClaimOf(config.oidcTenant);
  const tenantId = tenantClaim === null ? config.oidcTenant : claimAt(claims, tenantClaim);
  const userId = claims.sub;
  if (typeof tenantId !== 'string' || !isUsableId(tenantId)) {
    throw oidcErrors.raise.oidc_claims_unusable(`The claim ${tenantClaim} does not hold the id of a tenant`);
  }
  // Neither may be had by choosing a name at the provider.
  const isReserved = (id: string) => id.startsWith(apiKeyUserPrefix) || id === installationOperator.userId;
  if (typeof userId !== 'string' || !isUsableId(userId) || isReserved(userId)) {
    throw oidcErrors.raise.oidc_claims_unusable('The claim sub does not hold a user id that may sign in');
  }
  const email = claims.email_verified === false ? undefined : claims.email;
  return { tenantId, userId, ...described('name', claims.name), ...described('email', email) };
}

/** Only shown: an unusable one is left out rather than refused. */
function described<Name extends string>(name: Name, value: unknown): Partial<Record<Name, string>> {
  const isShown = typeof value === 'string' && isUsableId(value);
  return isShown ? ({ [name]: value } as Record<Name, string>) : {};
}

const maxGroups = 1_000;

/** Some providers send a single group as text. */
function groupsOf(value: unknown): string[] {
  return [value]
    .flat()
    .filter((group): group is string => typeof group === 'string' && isUsableId(group))
    .slice(0, maxGroups);
}
