import type { Database } from '../../lib/db.ts';
import { secretErrors } from './errors.ts';
import { deleteSecret, findSecret, listSecrets, putSecret, type SecretRecord } from './store.ts';
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

/** Bound to its place: the text of one tenant's secret is of no use in another's row. */
function placeOf(tenantId: string, name: string): string {
  return `tenant_secrets/${tenantId}/${name}`;
}

function missing(name: string): Error {
  return secretErrors.raise.secret_not_found(`There is no secret ${name}`);
}
