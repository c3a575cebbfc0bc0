import { isSluiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { UpkeepTask } from '../upkeep/types.ts';
import {
  currentPrefix,
  decryptSecret,
  encryptSecret,
  needsRotation,
  type SecretKeys,
} from './stored-secrets.ts';

/** One kind of place where encrypted secrets are stored. */
export interface SecretShelf {
  /** The secrets of all tenants without this prefix: a key other than the first has encrypted them. */
  listOlder(currentPrefix: string): AsyncIterable<ShelvedSecret>;
}

export interface ShelvedSecret {
  place: string;
  stored: string;
  /** Replaces it if it is unchanged; returns false when it was changed meanwhile. */
  replace(encrypted: string): Promise<boolean>;
}

interface RotationOptions {
  keys: SecretKeys;
  shelves: readonly SecretShelf[];
  logger: Logger;
}

const maxPerRun = 10_000;

/** After a new key was put first, everything is encrypted again with it, so that the old key can be removed. */
export function rotationTask(options: RotationOptions): UpkeepTask {
  return { name: 'rotate_secrets', everyMs: 300_000, run: () => rotateSecrets(options) };
}

export async function rotateSecrets({
  keys,
  shelves,
  logger,
}: RotationOptions): Promise<{ rotated: number; unreadable: number }> {
  const report = { rotated: 0, unreadable: 0 };
  // With one key there is nothing to rotate: what a removed key encrypted cannot be read.
  if (keys.keys.length < 2) return report;
  for (const shelf of shelves) {
    for await (const secret of shelf.listOlder(currentPrefix(keys))) {
      if (report.rotated + report.unreadable >= maxPerRun) return report;
      if (!needsRotation(keys, secret.stored)) continue;
      const encrypted = findRotated(keys, secret);
      if (encrypted === null) {
        report.unreadable += 1;
        logger.warn({ place: secret.place }, 'a stored secret was encrypted with a key that is not here');
      } else if (await secret.replace(encrypted)) report.rotated += 1;
    }
  }
  return report;
}

function findRotated(keys: SecretKeys, { place, stored }: ShelvedSecret): string | null {
  try {
    return encryptSecret(keys, { secret: decryptSecret(keys, { stored, place }), place });
  } catch (error) {
    if (isSluiceError(error) && error.code === 'secret_undecryptable') return null;
    throw error;
  }
}
