import pg from 'pg';
import { messageOf } from '../../../lib/errors.ts';
import {
  beginPreparation,
  createTitleIndex,
  createTitleSearch,
  createTrigrams,
  findTrigrams,
  type OwnerSession,
  type TrigramExtension,
} from './title-index-store.ts';

/**
 * Makes the index and the function that compare titles by likeness, where the database has pg_trgm or lets its owner
 * create it. Not a numbered migration, because everything else works without. Safe from any number of processes, after
 * the migrations; answers whether titles can be compared.
 */
export async function prepareTitleSearch(ownerUrl: string, options: PrepareOptions = {}): Promise<boolean> {
  const client = new pg.Client({ connectionString: ownerUrl, application_name: 'sluice-migrate' });
  client.on('error', () => {});
  await client.connect();
  try {
    const query = async <Row extends object>(text: string) => (await client.query<Row>(text)).rows;
    return await prepareTitles({ query }, options);
  } finally {
    await client.end().catch(() => {});
  }
}

export interface PrepareOptions {
  onNotice?: (text: string) => void;
}

export async function prepareTitles(
  session: OwnerSession,
  { onNotice = () => {} }: PrepareOptions = {},
): Promise<boolean> {
  const found = await findTrigrams(session);
  if (!found.hasProducts) return false;
  if (found.isInstalled && found.hasIndex && found.hasFunction) return true;
  if (!(await ensureExtension(session, found, onNotice))) return false;
  await beginPreparation(session);
  try {
    const { schema, hasIndex } = await findTrigrams(session);
    if (schema === null) throw new Error('The extension pg_trgm has just been found and is gone again');
    if (!hasIndex) await createTitleIndex(session, schema);
    await createTitleSearch(session, schema);
    await session.query('commit');
    return true;
  } catch (error) {
    await session.query('rollback');
    throw error;
  }
}

async function ensureExtension(
  session: OwnerSession,
  { isInstalled, isAvailable }: TrigramExtension,
  onNotice: (text: string) => void,
): Promise<boolean> {
  if (isInstalled) return true;
  const without = 'catalogues are matched without fuzzy titles';
  if (!isAvailable) {
    onNotice(`${without}: the server does not have the extension pg_trgm`);
    return false;
  }
  try {
    await createTrigrams(session);
    return true;
  } catch (error) {
    const { code } = error as { code?: unknown };
    // Without a code it was not the server that said no, but the connection that broke.
    if (typeof code !== 'string' || !/^[0-9A-Z]{5}$/.test(code)) throw error;
    // Two that create it at once meet at its name: the other one has.
    if (code === '23505' || code === '42710') return true;
    onNotice(`${without}: the owner of the database could not create pg_trgm (${messageOf(error)})`);
    return false;
  }
}
