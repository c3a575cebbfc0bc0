import type { Database, Tx } from '../../../lib/postgres/db.ts';
import { parseExactly } from '../../../lib/rows/exact-json.ts';
import { createTurns } from '../../../lib/timing/event-loop-turns.ts';
import type { Candidate, Catalog, FieldColumns, Hit, Match, Question, Strategy } from '../types.ts';
import { brandScope, keysOf, numbersAgree, type ProductKeys } from './keys.ts';
import { type LookupPlace, listByKey, listByTitle } from './match-store.ts';

export interface MatchSettings {
  /** How similar a title must be, from 0 to 1. */
  threshold: number;
  /** How far the best title must be ahead of the second-best. */
  margin: number;
}

/** docs/benchmarks/catalog.md shows what other values would do. */
export const defaultSettings: MatchSettings = { threshold: 0.6, margin: 0.05 };

export interface Lookup {
  strategy: Strategy;
  questions: readonly Question[];
  settings: MatchSettings;
}

/** Similarity is computed by the database: few enough that a statement stays far below any timeout. */
const titlesAtOnce = 100;
/** Keys are computed on the main thread: this many take about 10 ms. */
const keysAtOnce = 500;
/** Enough to see whether the best one has a rival, and to show some candidates. */
const mostHits = 8;
const mostCandidates = 4;

/** Looks rows up in the version that the catalogue had when it was read. Returns one match per row, in order. */
export async function lookUp(db: Database, catalog: Catalog, lookup: Lookup): Promise<Match[]> {
  const { questions, strategy } = lookup;
  const atOnce = strategy === 'fuzzy_title' ? titlesAtOnce : keysAtOnce;
  const matches: Match[] = [];
  for (let from = 0; from < questions.length; from += atOnce) {
    const some = questions.slice(from, from + atOnce);
    matches.push(...(await lookUpSome(db, catalog, { ...lookup, questions: some })));
  }
  return matches;
}

async function lookUpSome(db: Database, catalog: Catalog, lookup: Lookup): Promise<Match[]> {
  const keys = lookup.questions.map(keysOf);
  const { tenantId, versionId } = catalog;
  const asked = keys.some((one) => lacking(one, lookup.strategy) === null);
  const hits = asked
    ? await db.tenant(tenantId, (tx) => ask(tx, { tenantId, versionId, most: mostHits }, keys, lookup))
    : [];
  const byQuestion = new Map<number, Hit[]>();
  for (const hit of hits) byQuestion.set(hit.n, [...(byQuestion.get(hit.n) ?? []), hit]);
  const takeTurn = createTurns();
  const matches: Match[] = [];
  for (const [index, one] of keys.entries()) {
    const missing = lacking(one, lookup.strategy);
    matches.push(
      missing === null
        ? judge(byQuestion.get(index + 1) ?? [], { key: one, lookup, fields: catalog.fields })
        : nothing(`The row has no ${missing} to look up`),
    );
    // Products that were found are parsed here, and may be long.
    await takeTurn();
  }
  return matches;
}

function ask(
  tx: Tx,
  place: LookupPlace,
  keys: readonly ProductKeys[],
  { strategy, settings }: Lookup,
): Promise<Hit[]> {
  switch (strategy) {
    case 'sku':
      return listByKey(tx, place, { strategy, keys: keys.map(({ sku }) => sku) });
    case 'brand_title':
      return listByKey(tx, place, { strategy, keys: keys.map(({ brandTitle }) => brandTitle) });
    case 'fuzzy_title':
      return listByTitle(tx, place, {
        titles: keys.map(({ title }) => title),
        brands: keys.map(({ brand }) => (brand === null ? null : brandScope(place.versionId, brand))),
        threshold: settings.threshold,
      });
  }
}

/** What a row lacks for this strategy; null: nothing. */
function lacking(key: ProductKeys, strategy: Strategy): string | null {
  if (strategy === 'sku') return key.sku === null ? 'SKU' : null;
  if (key.title === '') return 'title';
  return strategy === 'brand_title' && key.brand === null ? 'brand' : null;
}

interface Asked {
  key: ProductKeys;
  lookup: Lookup;
  fields: FieldColumns;
}

function judge(hits: readonly Hit[], { key, lookup, fields }: Asked): Match {
  const { strategy, settings } = lookup;
  if (strategy !== 'fuzzy_title') {
    const [only, second] = hits;
    if (!only) return nothing(`No product has this ${strategy === 'sku' ? 'SKU' : 'brand and title'}`);
    if (!second) return found(only);
    return nothing(
      `${hits.length === mostHits ? 'Many' : hits.length} products have this ` +
        `${strategy === 'sku' ? 'SKU' : 'brand and title'}`,
      candidatesOf(hits, fields),
    );
  }
  const fitting = hits.filter(({ titleKey }) => numbersAgree(titleKey, key.title));
  const [best, next] = fitting;
  if (!best) {
    if (hits.length === 0) return nothing(`No title has a similarity of ${settings.threshold} or more`);
    return nothing('Similar titles differ in their numbers', candidatesOf(hits, fields));
  }
  if (next && best.score - next.score < settings.margin) {
    return nothing('Several titles are equally similar', candidatesOf(fitting, fields));
  }
  return found(best);
}

function found({ score, productJson }: Hit): Match {
  return { found: true, score: rounded(score), product: productOf(productJson) };
}

function nothing(reason: string, candidates: Candidate[] = []): Match {
  return { found: false, reason, candidates };
}

function candidatesOf(hits: readonly Hit[], fields: FieldColumns): Candidate[] {
  return hits.slice(0, mostCandidates).map(({ score, productJson }) => {
    const product = productOf(productJson);
    const cell = (column: string | null) => {
      const value = column !== null && Object.hasOwn(product, column) ? product[column] : null;
      return value === null || value === undefined ? null : String(value).slice(0, 500);
    };
    return {
      sku: cell(fields.sku),
      brand: cell(fields.brand),
      title: cell(fields.title),
      score: rounded(score),
    };
  });
}

function productOf(json: string): Record<string, unknown> {
  return parseExactly(json) as Record<string, unknown>;
}

function rounded(score: number): number {
  return Math.round(score * 1000) / 1000;
}
