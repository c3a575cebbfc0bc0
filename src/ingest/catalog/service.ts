import type { Database } from '../../lib/postgres/db.ts';
import { catalogErrors } from './errors.ts';
import { canMatchTitles } from './matching/match-store.ts';
import { lookUp, type MatchSettings } from './matching/matching.ts';
import { deleteCatalog, deleteProducts, findCatalog, listUnusedVersions, retireVersions } from './store.ts';
import type { Catalog, CatalogKey, Match, Question, Strategy } from './types.ts';

export async function getCatalog(db: Database, key: CatalogKey): Promise<Catalog> {
  const catalog = await db.tenant(key.tenantId, (tx) => findCatalog(tx, key));
  if (catalog) return catalog;
  throw catalogErrors.raise.catalog_not_found(`There is no catalogue ${JSON.stringify(key.name)}`);
}

/** Throws if a strategy needs something that the database does not have. */
export async function assertStrategies(
  db: Database,
  { tenantId, used }: { tenantId: string; used: readonly Strategy[] },
): Promise<void> {
  if (!used.includes('fuzzy_title') || (await db.tenant(tenantId, canMatchTitles))) return;
  throw catalogErrors.raise.fuzzy_title_unavailable(
    'The strategy fuzzy_title needs the extension pg_trgm, which this database does not have',
    { fields: [{ pointer: '/options/strategies', message: 'must be sku or brand_title' }] },
  );
}

/** The catalogue is deleted at once; upkeep removes its products. */
export async function removeCatalog(db: Database, key: CatalogKey): Promise<void> {
  await db.tenant(key.tenantId, async (tx) => {
    if (!(await deleteCatalog(tx, key))) {
      throw catalogErrors.raise.catalog_not_found(`There is no catalogue ${JSON.stringify(key.name)}`);
    }
    await retireVersions(tx, { ...key, except: null });
  });
}

/** The result of trying the strategies in order until one of them found the row. */
export interface Tried {
  match: Match;
  /** The one that found it, or else the last one that saw candidates, or the last one tried. */
  strategy: Strategy;
}

export async function matchQuestions(
  db: Database,
  catalog: Catalog,
  asked: {
    questions: readonly Question[];
    strategies: readonly Strategy[];
    settings: MatchSettings;
    /** Aborts when nobody waits for the matches any more. */
    signal?: AbortSignal;
  },
): Promise<Tried[]> {
  await assertStrategies(db, { tenantId: catalog.tenantId, used: asked.strategies });
  const answers: Tried[] = [];
  let open = asked.questions.map((question, place) => ({ question, place }));
  for (const strategy of asked.strategies) {
    if (open.length === 0) break;
    asked.signal?.throwIfAborted();
    const questions = open.map(({ question }) => question);
    const matches = await lookUp(db, catalog, { strategy, questions, settings: asked.settings });
    for (const [index, match] of matches.entries()) {
      const place = open[index]?.place ?? -1;
      const before = answers[place]?.match;
      // Candidates of an earlier strategy tell more than a later strategy without any.
      const saysMore = match.found || match.candidates.length > 0 || !before || before.found;
      if (saysMore || before.candidates.length === 0) answers[place] = { match, strategy };
    }
    open = open.filter((_, index) => !matches[index]?.found);
  }
  return answers;
}

const versionsAtOnce = 20;
const productsAtOnce = 10_000;
const mostBatches = 100;

/** For upkeep: removes products of versions that were replaced, deleted, or left behind by a failed upload. */
export async function removeUnusedVersions(db: Database): Promise<{ removed: number }> {
  const unused = await db.kernel((tx) => listUnusedVersions(tx, versionsAtOnce));
  let removed = 0;
  let batches = 0;
  for (const version of unused) {
    for (let deleted = 1; deleted > 0 && batches < mostBatches; batches += 1) {
      deleted = await db.kernel((tx) => deleteProducts(tx, { ...version, limit: productsAtOnce }));
      removed += deleted;
    }
  }
  return { removed };
}
