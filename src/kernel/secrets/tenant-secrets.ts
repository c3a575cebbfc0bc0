import type { Database } from '../../lib/postgres/db.ts';
import { listTenants } from '../tenancy/store.ts';
import { secretErrors } from './errors.ts';
import type { SecretShelf } from './rotation.ts';
import {
  deleteSecret,
  findSecret,
  listOlderSecrets,
  listSecrets,
  putSecret,
  replaceEncrypted,
  type SecretRecord,
} from './store.ts';
import { decryptSecret, encryptSecret, type SecretKeys } from './stored-secrets.ts';

/** Secrets that tenants store for their providers: written over the API, read only by the work that needs them. */
export class TenantSecrets {
  readonly #db: Database;
  readonly #keys: SecretKeys;

  constructor({ db, keys }: { db: Database; keys: SecretKeys }) {
    this.#db = db;
    this.#keys = keys;
  }

  put(tenantId: string, secret: { name: string; value: string; updatedBy: string }): Promise<void> {
    const { name, value, updatedBy } = secret;
    const encrypted = encryptSecret(this.#keys, { secret: value, place: placeOf(tenantId, name) });
    return this.#db.tenant(tenantId, (tx) => putSecret(tx, { tenantId, name, encrypted, updatedBy }));
  }

  list(tenantId: string): Promise<SecretRecord[]> {
    return this.#db.tenant(tenantId, (tx) => listSecrets(tx, tenantId));
  }

  async remove(tenantId: string, name: string): Promise<void> {
    if (await this.#db.tenant(tenantId, (tx) => deleteSecret(tx, { tenantId, name }))) return;
    throw missing(name);
  }

  async get(tenantId: string, name: string): Promise<string> {
    const row = await this.#db.tenant(tenantId, (tx) => findSecret(tx, { tenantId, name }));
    if (!row) throw missing(name);
    return decryptSecret(this.#keys, { stored: row.encrypted, place: placeOf(tenantId, name) });
  }
}

const tenantsPerPage = 500;

/** All secrets of all tenants, for a rotation of the key. */
export function tenantSecretShelf(db: Database): SecretShelf {
  return {
    async *listOlder(currentPrefix) {
      let after: string | null = null;
      for (;;) {
        const page = await db.kernel((tx) => listTenants(tx, { limit: tenantsPerPage, after }));
        for (const { tenantId } of page) {
          const older = await db.tenant(tenantId, (tx) => listOlderSecrets(tx, { tenantId, currentPrefix }));
          for (const { name, encrypted: stored } of older) {
            yield {
              place: placeOf(tenantId, name),
              stored,
              replace: (encrypted) =>
                db.tenant(tenantId, (tx) => replaceEncrypted(tx, { tenantId, name, stored, encrypted })),
            };
          }
        }
        after = page.at(-1)?.tenantId ?? null;
        if (page.length < tenantsPerPage) return;
      }
    },
  };
}

/** Bound to its place: the text of one tenant's secret is of no use in another's row. */
function placeOf(tenantId: string, name: string): string {
  return `tenant_secrets/${tenantId}/${name}`;
}

function missing(name: string): Error {
  return secretErrors.raise.secret_not_found(`There is no secret ${name}`);
}
