import type { Database } from '../../../lib/postgres/db.ts';
import type { SecretShelf, ShelvedSecret } from '../../secrets/rotation.ts';
import { placeOf } from '../service.ts';
import type { EndpointKey } from '../types.ts';
import { listOlderSecrets, replaceSecret } from './secret-store.ts';

const pageSize = 500;

/** The secrets that webhooks are signed with, the current and the old ones. */
export function webhookSecretShelf(db: Database): SecretShelf {
  return {
    async *listOlder(currentPrefix) {
      let after: EndpointKey | null = null;
      for (;;) {
        const page = await db.kernel((tx) => listOlderSecrets(tx, { currentPrefix, after, limit: pageSize }));
        for (const { secret, oldSecret, ...key } of page) {
          yield shelved(db, key, secret);
          if (oldSecret !== null) yield shelved(db, key, oldSecret);
        }
        after = page.at(-1) ?? null;
        if (page.length < pageSize) return;
      }
    },
  };
}

function shelved(db: Database, key: EndpointKey, stored: string): ShelvedSecret {
  return {
    place: placeOf(key),
    stored,
    replace: (encrypted) => db.kernel((tx) => replaceSecret(tx, { ...key, stored, encrypted })),
  };
}
