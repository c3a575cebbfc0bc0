import { createHash } from 'node:crypto';
import type { ItemInput } from './types.ts';

/**
 * What a provider can tell a repeated call by. It is the same for all calls of one attempt of a row: a call that is
 * repeated after a crash carries the key of the first one, and a new attempt has a new key. Steps of a chain may call
 * the same provider, so each has its own.
 */
export function idempotencyKeyOf(jobId: string, items: readonly ItemInput[]): string {
  const parts = items.map(({ id, attempts, attemptNo = attempts, keyPart }) =>
    [id, attemptNo, ...(keyPart === undefined ? [] : [keyPart])].join('-'),
  );
  if (parts.length === 1) return `${jobId}-${parts[0]}`;
  return `${jobId}-${createHash('sha256').update(parts.join(' ')).digest('hex').slice(0, 32)}`;
}
