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

/** One kind of place where encrypted secrets lie. */
export interface SecretShelf {
  /** Those of all tenants that do not begin with this: another key than the first has encrypted them. */
  listOlder(currentPrefix: string): AsyncIterable<ShelvedSecret>;
}

export interface ShelvedSecret {
  place: string;
  stored: string;
  /** Only if it is still the stored one; false when somebody has changed it meanwhile. */
  replace(encrypted: string): Promise<boolean>;
}

interface RotationOptions {
  keys: SecretKeys;
  shelves: readonly SecretShelf[];
  logger: Logger;
}

const maxPerRun = 10_000;

/** After a new key was put in front, everything is encrypted anew with it, so that the old one can be taken away. */
export function rotationTask(options: RotationOptions): UpkeepTask {
  return { name: 'rotate_secrets', everyMs: 300_000, run: () => rotateSecrets(options) };
}

export async function rotateSecrets({
  keys,
  shelves,
  logger,
}: RotationOptions): Promise<{ rotated: number; unreadable: number }> {
  const report = { rotated: 0, unreadable: 0 };
  // What a key encrypted that is not there any more cannot be read anyway.
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
