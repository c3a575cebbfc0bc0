import {
  type OwnerSession,
  prepareAlone,
  tryCreateExtension,
  withOwnerSession,
} from '../../../lib/postgres/optional-extension.ts';
import {
  createTitleIndex,
  createTitleSearch,
  findTrigrams,
  type TrigramExtension,
} from './title-index-store.ts';

/** Any fixed number that differs from those of the migrations and of pgvector. */
const preparationLock = 735_110_444;

/**
 * Creates the index and the function that compare similar titles, if the database has pg_trgm or lets its owner create
 * it. Not a numbered migration, because everything else works without it. Runs after the migrations, safely from any
 * number of processes. Returns whether titles can be compared.
 */
export function prepareTitleSearch(ownerUrl: string, options: PrepareOptions = {}): Promise<boolean> {
  return withOwnerSession(ownerUrl, (session) => prepareTitles(session, options));
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
  await prepareAlone(session, preparationLock, async () => {
    const { schema, hasIndex } = await findTrigrams(session);
    if (schema === null) throw new Error('The extension pg_trgm has just been found and is gone again');
    if (!hasIndex) await createTitleIndex(session, schema);
    await createTitleSearch(session, schema);
  });
  return true;
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
  const refusal = await tryCreateExtension(session, 'pg_trgm');
  if (refusal !== null)
    onNotice(`${without}: the owner of the database could not create pg_trgm (${refusal})`);
  return refusal === null;
}
