import type { Database } from '../../lib/postgres/db.ts';
import { listTenants } from '../tenancy/store.ts';
import type { Principal } from '../tenancy/types.ts';
import { secretErrors } from './errors.ts';
import { LentSecret } from './lent-secret.ts';
import type { SecretShelf } from './rotation.ts';
import {
  changeSecret,
  deleteSecret,
  findSecret,
  listOlderSecrets,
  listSecrets,
  putSecret,
  replaceEncrypted,
} from './store.ts';
import { decryptSecret, encryptSecret, type SecretKeys } from './stored-secrets.ts';
import type { SecretLender, SecretRecord, SecretUser, SeesName, WantedSecret } from './types.ts';
import { assertLendable, assertWanted, mayUse, usesEverySecret } from './use-rules.ts';

export type NewSecret = Omit<SecretRecord, 'updatedAt'> & { value: string };
export type SecretChange = Partial<Pick<SecretRecord, 'roles' | 'uses'>> &
  Pick<SecretRecord, 'name' | 'updatedBy'>;

/** Secrets that tenants store for their providers: written over the API, read only by the work that may use them. */
export class TenantSecrets implements SecretLender {
  readonly #db: Database;
  readonly #keys: SecretKeys;

  constructor({ db, keys }: { db: Database; keys: SecretKeys }) {
    this.#db = db;
    this.#keys = keys;
  }

  put(tenantId: string, { value, ...record }: NewSecret): Promise<void> {
    const encrypted = encryptSecret(this.#keys, { secret: value, place: placeOf(tenantId, record.name) });
    return this.#db.tenant(tenantId, (tx) => putSecret(tx, { ...record, tenantId, encrypted }));
  }

  /** Hosts change only together with the value: otherwise whoever may write secrets could also read them. */
  async change(tenantId: string, change: SecretChange): Promise<void> {
    if (await this.#db.tenant(tenantId, (tx) => changeSecret(tx, { ...change, tenantId }))) return;
    throw missing(change.name);
  }

  /** Those that the person may use. */
  async list({ tenantId, role }: Pick<Principal, 'tenantId' | 'role'>): Promise<SecretRecord[]> {
    const all = await this.#db.tenant(tenantId, (tx) => listSecrets(tx, tenantId));
    return all.filter((record) => mayUse(role, record));
  }

  async remove(tenantId: string, name: string): Promise<void> {
    if (await this.#db.tenant(tenantId, (tx) => deleteSecret(tx, { tenantId, name }))) return;
    throw missing(name);
  }

  async assertUsable(user: SecretUser, wanted: WantedSecret): Promise<void> {
    const { tenantId } = user;
    const found = await this.#db.tenant(tenantId, (tx) => findSecret(tx, { tenantId, name: wanted.name }));
    assertWanted(found, user, wanted);
  }

  async lend(user: SecretUser, name: string): Promise<LentSecret> {
    const { tenantId } = user;
    const found = await this.#db.tenant(tenantId, (tx) => findSecret(tx, { tenantId, name }));
    const { encrypted: stored, hosts } = assertLendable(found, user);
    return new LentSecret({
      value: decryptSecret(this.#keys, { stored, place: placeOf(tenantId, name) }),
      hosts,
    });
  }

  async visibleTo(person: Pick<Principal, 'tenantId' | 'role'>): Promise<SeesName> {
    if (usesEverySecret(person.role)) return () => true;
    const names = new Set((await this.list(person)).map(({ name }) => name));
    return (name) => names.has(name);
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
