import { isSluiceError } from '../../../../lib/errors.ts';
import { type CatalogOptions, catalogOptions, readQuestion } from '../../catalog/catalog-options.ts';
import type { Catalogs } from '../../catalog/catalogs.ts';
import type { Catalog, Match, Question, Strategy } from '../../catalog/types.ts';
import { parseOptions } from './options.ts';
import { endsSlice, failureOf, stoppedOutcome } from './outcomes.ts';
import type { ItemInput, ItemOutcome, Processor, ProcessorContext } from './types.ts';

/** A lookup is one statement, so that many rows are cheaper together. */
const itemsAtOnce = 1_000;

/**
 * Matches rows against a catalogue in this database. One try is one strategy; a row that it does not find is tried with
 * the next one at once, because nobody outside has to be spared, and not again once all were tried: the same question
 * to the same catalogue has the same answer.
 */
export const catalogProcessor: Processor = {
  name: 'catalog',
  isPure: false,
  itemsAtOnce,
  provider: (options) => `catalog:${optionsOf(options).catalog}`,
  strategies: (options) => optionsOf(options).strategies.length,
  validateOptions: optionsOf,
  assertUsable: async (options, { catalogs }) => {
    const { catalog: name, strategies } = optionsOf(options);
    await catalogs.get(name);
    await catalogs.assertStrategies(strategies);
  },
  process: (items, options, context) => processItems({ items, options: optionsOf(options), context }),
};

function optionsOf(options: unknown): CatalogOptions {
  return parseOptions(catalogOptions, { processor: 'catalog', options });
}

interface Run {
  items: ItemInput[];
  options: CatalogOptions;
  context: ProcessorContext;
}

async function processItems({ items, options, context }: Run): Promise<ItemOutcome[]> {
  const outcomes = new Map<ItemInput, ItemOutcome>();
  for (const [place, strategy] of options.strategies.entries()) {
    const some = items.filter((item) => item.strategy % options.strategies.length === place);
    if (some.length === 0 || context.signal.aborted) continue;
    try {
      // Read for each lookup: a version that was replaced a while ago is no longer there.
      const catalogs = catalogsIn(context);
      const catalog = await catalogs.get(options.catalog);
      const matched = await matchItems({ items: some, options, context }, { catalogs, catalog, strategy });
      for (const [item, outcome] of matched) outcomes.set(item, outcome);
    } catch (error) {
      if (!isSluiceError(error) || endsSlice(error)) throw error;
      for (const item of some) outcomes.set(item, { ...failureOf(error), keepsStrategy: true });
    }
  }
  return items.map((item) => outcomes.get(item) ?? stoppedOutcome());
}

function catalogsIn({ catalogs }: ProcessorContext): Catalogs {
  if (catalogs) return catalogs;
  throw new Error('The processor catalog runs only where there are catalogues');
}

async function matchItems(
  { items, options, context }: Run,
  { catalogs, catalog, strategy }: { catalogs: Catalogs; catalog: Catalog; strategy: Strategy },
): Promise<[ItemInput, ItemOutcome][]> {
  const startedMs = performance.now();
  const questions = items.map((item) => readQuestion(item.input, options.fields, item.normalized));
  const matches = await catalogs.lookUp(catalog, { strategy, questions, settings: options });
  const tookMs = Math.round(performance.now() - startedMs);
  // One row of search_events for those that were found and one for the others, however many they are.
  for (const found of [true, false]) {
    const itemIds = items.filter((_, index) => matches[index]?.found === found).map(({ id }) => id);
    const outcome = found ? 'done' : 'not_found';
    const call = { provider: `catalog:${catalog.name}`, itemIds, strategy, status: null, outcome, tookMs };
    if (itemIds.length > 0) context.log(call);
  }
  const count = options.strategies.length;
  const tried = items.map((item, index) => {
    const match = matches[index] as Match;
    return { item, question: questions[index] as Question, match, strategy, isLast: isLastTry(item, count) };
  });
  await recallRivals(tried, { catalogs, catalog, options });
  return tried.map(({ item, ...answer }) => [item, outcomeOf(answer, catalog)]);
}

/** One look of one strategy at one row. */
interface Tried {
  item: ItemInput;
  question: Question;
  match: Match;
  strategy: Strategy;
  isLast: boolean;
}

/** As many tries as there are strategies, and the last of them was the last one: all were tried. */
function isLastTry({ attempts, strategy }: ItemInput, count: number): boolean {
  return attempts >= count && (strategy + 1) % count === 0;
}

/**
 * A row that ends without a match, and of which the last strategy knows nothing to tell: rivals that an earlier one saw
 * are its reason. They are looked for again, because a try keeps nothing for the next one.
 */
async function recallRivals(
  tried: readonly Tried[],
  { catalogs, catalog, options }: { catalogs: Catalogs; catalog: Catalog; options: CatalogOptions },
): Promise<void> {
  const isSilent = ({ match, isLast }: Tried) => isLast && !match.found && match.candidates.length === 0;
  for (const strategy of options.strategies.slice(0, -1)) {
    const silent = tried.filter(isSilent);
    if (silent.length === 0) return;
    const questions = silent.map(({ question }) => question);
    const matches = await catalogs.lookUp(catalog, { strategy, questions, settings: options });
    for (const [index, one] of silent.entries()) {
      const match = matches[index] as Match;
      if (!match.found && match.candidates.length > 0) Object.assign(one, { match, strategy });
    }
  }
}

function outcomeOf({ match, strategy, isLast }: Omit<Tried, 'item'>, catalog: Catalog): ItemOutcome {
  const how = { matchStrategy: strategy, catalogVersion: catalog.version };
  if (match.found) {
    return { status: 'DONE', result: { ...match.product, ...how, matchScore: match.score } };
  }
  return {
    status: 'NOT_FOUND',
    reason: match.reason,
    result: { ...how, candidates: match.candidates },
    retry: isLast ? 'never' : 'at_once',
  };
}
