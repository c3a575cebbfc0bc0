import { LentSecret } from '../../../src/kernel/secrets/lent-secret.ts';
import type { SecretLender } from '../../../src/kernel/secrets/types.ts';

/** Test servers are on this machine. */
const here = ['127.0.0.1', 'localhost', '[::1]'];

/** A secret for servers of this machine. */
export function lentHere(value: string): LentSecret {
  return new LentSecret({ value, hosts: here });
}

/** Lends to everybody what `find` returns, for servers of this machine. */
export function secretsHere(
  find: (name: string, tenantId: string) => string | Promise<string>,
): SecretLender {
  return {
    assertUsable: async () => {},
    lend: async ({ tenantId }, name) => lentHere(await find(name, tenantId)),
    visibleTo: async () => () => true,
  };
}

export const noSecrets = secretsHere(() => {
  throw new Error('There are no secrets in this test');
});
