import { SecretPurse } from '../../../kernel/secrets/lent-secret.ts';
import type { SecretLender } from '../../../kernel/secrets/types.ts';
import type { ItemJob } from '../types.ts';
import type { ItemOutcome, ProviderCall } from './processors/types.ts';

/** The secrets of a job, which it uses with the rights of whoever created it. */
export function purseOf(secrets: SecretLender, job: ItemJob): SecretPurse {
  const { tenantId, userRole: role, processor } = job;
  return new SecretPurse(secrets, { tenantId, role, use: `processor:${processor}` });
}

/** Providers echo what they were sent, and everybody who may see the row would read it. */
export function withoutSecrets(outcome: ItemOutcome, purse: SecretPurse): ItemOutcome {
  return purse.scrubValue(outcome) as ItemOutcome;
}

export function callWithoutSecrets({ error, ...call }: ProviderCall, purse: SecretPurse): ProviderCall {
  return error === undefined ? call : { ...call, error: purse.scrub(error) };
}
