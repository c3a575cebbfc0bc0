import { createHash } from 'node:crypto';
import { isSluiceError } from '../errors.ts';

/**
 * Signs the tenant that a transaction names. PostgreSQL checks the signature (`current_tenant`), so a statement that
 * somebody got into a request cannot name another tenant: the key is out of reach of the roles that work for tenants.
 */
export class TenantSigner {
  readonly #readKey: () => Promise<Buffer>;
  #key: Promise<Buffer> | null = null;

  constructor(readKey: () => Promise<Buffer>) {
    this.#readKey = readKey;
  }

  async sign(tenantId: string): Promise<string> {
    this.#key ??= this.#readKey();
    try {
      const key = await this.#key;
      const inner = createHash('sha256').update(key).update(tenantId).digest();
      return createHash('sha256').update(key).update(inner).digest('hex');
    } catch (error) {
      this.#key = null;
      throw error;
    }
  }

  /** After a refusal the key is read again: the database may have been replaced by another one. */
  noteFailure(error: unknown): void {
    if (isSluiceError(error) && error.code === 'tenant_not_signed') this.#key = null;
  }
}
