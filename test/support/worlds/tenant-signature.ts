import type { TestDatabase } from './database.ts';

/** What PostgreSQL expects beside a tenant's name, computed by the database itself. */
export async function signatureFor(database: TestDatabase, tenantId: string): Promise<string> {
  const [row] = await database.owner<{ signature: string }>(
    `select encode(sha256(key || sha256(key || convert_to($1, 'UTF8'))), 'hex') as signature from tenant_signing`,
    [tenantId],
  );
  return row?.signature ?? '';
}
