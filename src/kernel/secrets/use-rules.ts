import { can } from '../tenancy/rights.ts';
import type { Role } from '../tenancy/types.ts';
import { secretErrors } from './errors.ts';
import { isAmong } from './hosts.ts';
import type { SecretRecord, SecretUser, WantedSecret } from './types.ts';

type Rules = Pick<SecretRecord, 'hosts' | 'roles' | 'uses'>;

const { raise } = secretErrors;

/** A member uses only what is marked for members; the other roles with the right use everything of their tenant. */
export function usesEverySecret(role: Role): boolean {
  return role !== 'member' && can(role, 'secret.use');
}

export function mayUse(role: Role, { roles }: Pick<Rules, 'roles'>): boolean {
  return usesEverySecret(role) || (can(role, 'secret.use') && roles.includes(role));
}

/**
 * At creation. Whoever may not use a secret cannot tell it from a missing one. Whoever may use every secret can name
 * one that will be stored later.
 *
 * Names and hosts stand only in `fields`, which the response shows to whoever sent the request. Messages may be stored
 * with work that others see.
 */
export function assertWanted(found: Rules | null, user: SecretUser, wanted: WantedSecret): void {
  if (found === null && usesEverySecret(user.role)) return;
  const { pointer } = wanted;
  const quoted = JSON.stringify(wanted.name.slice(0, 100));
  const { hosts } = assertLendable(found, user, (rules) => ({
    fields: [{ pointer, message: fieldMessage(rules, { user, quoted }) }],
  }));
  const elsewhere = wanted.urls.find((url) => !URL.canParse(url) || !isAmong(hosts, new URL(url)));
  if (elsewhere === undefined) return;
  const host = URL.canParse(elsewhere) ? new URL(elsewhere).host : 'a host that cannot be read';
  throw raise.secret_host_not_allowed(`The secret may not be sent to ${host}`, {
    fields: [{ pointer, message: `${quoted} may be sent to ${hosts.join(', ')} only, not to ${host}` }],
  });
}

function fieldMessage(rules: Rules | null, { user, quoted }: { user: SecretUser; quoted: string }): string {
  if (rules === null) return `${quoted} is not a secret that the role ${user.role} may use`;
  if (rules.hosts.length === 0) return `${quoted} has no hosts yet`;
  return `${quoted} may be used by ${rules.uses?.join(', ')} only`;
}

type Extras = (allowed: Rules | null) => Parameters<typeof raise.secret_not_allowed>[1];

/** At run time. Hosts are checked with each request. */
export function assertLendable<Found extends Rules>(
  found: Found | null,
  user: SecretUser,
  extras: Extras = () => ({}),
): Found {
  if (found === null && usesEverySecret(user.role)) {
    throw raise.secret_not_found('There is no secret of the name that is given');
  }
  if (found === null || !mayUse(user.role, found)) {
    const message = `The role ${user.role} may not use the secret, or there is none`;
    throw raise.secret_not_allowed(message, extras(null));
  }
  if (found.hosts.length === 0) {
    throw raise.secret_without_hosts('The secret was stored without hosts', extras(found));
  }
  if (found.uses !== null && !found.uses.includes(user.use)) {
    throw raise.secret_use_not_allowed(`The secret may not be used by ${user.use}`, extras(found));
  }
  return found;
}
