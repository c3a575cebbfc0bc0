import {
  type OwnerSession,
  prepareAlone,
  tryCreateExtension,
  withOwnerSession,
} from '../../../../lib/postgres/optional-extension.ts';
import {
  createVectorIndexes,
  createVectorTable,
  findVectorExtension,
  type VectorExtension,
} from './vector-table-store.ts';

/** Any fixed number that differs from the locks of migrations and of catalogue titles. */
const preparationLock = 735_110_443;
/** The first version with half-precision numbers, which graphs of many dimensions need. */
const oldestVersion = '0.7';

/**
 * Creates the table and the graphs of pgvector if the database has the extension. It is not a numbered migration,
 * because the extension is optional and may be installed later. Any number of processes may call it after the
 * migrations. Returns whether pgvector can be used.
 */
export function preparePgvector(ownerUrl: string, options: PrepareOptions = {}): Promise<boolean> {
  return withOwnerSession(ownerUrl, (session) => prepareVectorTable(session, options));
}

export interface PrepareOptions {
  onNotice?: (text: string) => void;
}

export async function prepareVectorTable(
  session: OwnerSession,
  { onNotice = () => {} }: PrepareOptions = {},
): Promise<boolean> {
  const found = await findVectorExtension(session);
  if (!found.hasChunks || !(await ensureExtension(session, found, onNotice))) return false;
  await prepareAlone(session, preparationLock, async () => {
    const { schema, hasTable } = await findVectorExtension(session);
    if (schema === null)
      throw new Error('The extension vector disappeared while its table was being prepared');
    if (!hasTable) await createVectorTable(session, schema);
    await createVectorIndexes(session, schema);
  });
  return true;
}

/** An old version of the extension is not upgraded: other programs may rely on it. */
async function ensureExtension(
  session: OwnerSession,
  found: VectorExtension,
  onNotice: (text: string) => void,
): Promise<boolean> {
  const { installed, available } = found;
  if (installed !== null && !isAtLeast(installed, oldestVersion)) {
    onNotice(`pgvector ${installed} is not used: version ${oldestVersion} or newer is needed`);
  }
  if (installed !== null) return isAtLeast(installed, oldestVersion);
  if (available === null || !isAtLeast(available, oldestVersion)) return false;
  const refusal = await tryCreateExtension(session, 'vector');
  if (refusal !== null)
    onNotice(`pgvector is not used: the owner of the database could not create it (${refusal})`);
  return refusal === null;
}

/** Compares versions of PostgreSQL extensions, such as 0.8.1. */
export function isAtLeast(version: string, wanted: string): boolean {
  const [have, want] = [version, wanted].map((text) => text.split('.').map(Number));
  for (let place = 0; place < Math.max(have?.length ?? 0, want?.length ?? 0); place += 1) {
    const difference = (have?.[place] ?? 0) - (want?.[place] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}
