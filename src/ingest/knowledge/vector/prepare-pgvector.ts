import pg from 'pg';
import { messageOf } from '../../../lib/errors.ts';
import { isAtLeast } from './pgvector-version.ts';
import {
  beginPreparation,
  createVectorExtension,
  createVectorIndexes,
  createVectorTable,
  findVectorExtension,
  type OwnerSession,
  type VectorExtension,
} from './vector-table-store.ts';

/** The first with numbers of half the precision, which graphs of many dimensions need. */
const oldestVersion = '0.7';

/**
 * Makes the table and the graphs of pgvector where the database has the extension. Not a numbered migration, because
 * the extension may come later, and because a database without it is no worse off than one that lacks a migration.
 * Safe from any number of processes, after the migrations; answers whether pgvector can be used.
 */
export async function preparePgvector(ownerUrl: string, options: PrepareOptions = {}): Promise<boolean> {
  const client = new pg.Client({ connectionString: ownerUrl, application_name: 'sluice-migrate' });
  client.on('error', () => {});
  await client.connect();
  try {
    const query = async <Row extends object>(text: string) => (await client.query<Row>(text)).rows;
    return await prepareVectorTable({ query }, options);
  } finally {
    await client.end().catch(() => {});
  }
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
  await beginPreparation(session);
  try {
    const { schema, hasTable } = await findVectorExtension(session);
    if (schema === null) throw new Error('The extension vector has just been found and is gone again');
    if (!hasTable) await createVectorTable(session, schema);
    await createVectorIndexes(session, schema);
    await session.query('commit');
    return true;
  } catch (error) {
    await session.query('rollback');
    throw error;
  }
}

/** An extension that is there in an old version is left alone: others in the database may rely on it. */
async function ensureExtension(
  session: OwnerSession,
  found: VectorExtension,
  onNotice: (text: string) => void,
): Promise<boolean> {
  const { installed, available } = found;
  if (installed !== null && !isAtLeast(installed, oldestVersion)) {
    onNotice(`pgvector ${installed} is not used: it has to be ${oldestVersion} or newer`);
  }
  if (installed !== null) return isAtLeast(installed, oldestVersion);
  if (available === null || !isAtLeast(available, oldestVersion)) return false;
  try {
    await createVectorExtension(session);
    return true;
  } catch (error) {
    const { code } = error as { code?: unknown };
    // Without a code it was not the server that said no, but the connection that broke.
    if (typeof code !== 'string' || !/^[0-9A-Z]{5}$/.test(code)) throw error;
    // Two that create it at once meet at its name: the other one has.
    if (code === '23505' || code === '42710') return true;
    onNotice(`pgvector is not used: the owner of the database could not create it (${messageOf(error)})`);
    return false;
  }
}
