import type { CatalogDoor, LookupMatch, LookupOptions, OpenCatalog } from '../../../../kernel/house/doors.ts';
import { isSluiceError } from '../../../../lib/errors.ts';
import { parseOptions } from './options.ts';
import { endsSlice, failureOf, stoppedOutcome } from './outcomes.ts';
import type { ItemInput, ItemOutcome, Processor, ProcessorContext } from './types.ts';

/** A lookup is one statement, so many rows together are cheaper. */
const itemsAtOnce = 1_000;

/**
 * Matches rows against a catalogue in this database. One try is one strategy. A row that it does not find is tried with
 * the next one at once, because no provider has to be spared. It is not tried again after the last one: the same
 * question to the same catalogue has the same answer.
 */
export function catalogProcessor(catalogs: CatalogDoor): Processor {
  const optionsOf = (options: unknown) => parseOptions(catalogs.options, { processor: 'catalog', options });
  return {
    name: 'catalog',
    isPure: false,
    itemsAtOnce,
    provider: (options) => `catalog:${optionsOf(options).catalog}`,
    validateOptions: optionsOf,
    assertUsable: async (options, { tenantId }) => {
      const { catalog: name, strategies } = optionsOf(options);
      await catalogs.open(tenantId, name);
      await catalogs.assertStrategies(tenantId, strategies);
    },
    process: (items, options, context) =>
      processItems({ items, options: optionsOf(options), context, catalogs }),
  };
}

interface Run {
  items: ItemInput[];
  options: LookupOptions;
  context: ProcessorContext;
  catalogs: CatalogDoor;
}

async function processItems({ items, ...run }: Run): Promise<ItemOutcome[]> {
  const { options, context, catalogs } = run;
  const outcomes = new Map<ItemInput, ItemOutcome>();
  for (const [place, strategy] of options.strategies.entries()) {
    const some = items.filter((item) => item.strategy % options.strategies.length === place);
    if (some.length === 0 || context.signal.aborted) continue;
    try {
      // Opened for each lookup: a version that was replaced a while ago no longer exists.
      const catalog = await catalogs.open(context.tenantId, options.catalog);
      const matched = await matchItems({ items: some, ...run }, { catalog, strategy });
      for (const [item, outcome] of matched) outcomes.set(item, outcome);
    } catch (error) {
      if (!isSluiceError(error) || endsSlice(error)) throw error;
      for (const item of some) outcomes.set(item, { ...failureOf(error), keepsStrategy: true });
    }
  }
  return items.map((item) => outcomes.get(item) ?? stoppedOutcome());
}

async function matchItems(
  { items, options, context }: Run,
  { catalog, strategy }: { catalog: OpenCatalog; strategy: string },
): Promise<[ItemInput, ItemOutcome][]> {
  const startedMs = performance.now();
  const matches = await catalog.lookUp(items, { strategy, options });
  const tookMs = Math.round(performance.now() - startedMs);
  // One row of search_events for all rows that were found, and one for all others.
  for (const found of [true, false]) {
    const itemIds = items.filter((_, index) => matches[index]?.found === found).map(({ id }) => id);
    const outcome = found ? 'done' : 'not_found';
    const call = { provider: `catalog:${catalog.name}`, itemIds, strategy, status: null, outcome, tookMs };
    if (itemIds.length > 0) context.log(call);
  }
  const count = options.strategies.length;
  const tried = items.map((item, index) => {
    const match = matches[index] as LookupMatch;
    return { item, match, strategy, isLast: isLastTry(item, count) };
  });
  await recallRivals(tried, { catalog, options });
  return tried.map(({ item, ...answer }) => [item, outcomeOf(answer, catalog)]);
}

/** One strategy tried on one row. */
interface Tried {
  item: ItemInput;
  match: LookupMatch;
  strategy: string;
  isLast: boolean;
}

/** As many attempts as strategies, and this is the last strategy: all were tried. */
function isLastTry({ attempts, strategy }: ItemInput, count: number): boolean {
  return attempts >= count && (strategy + 1) % count === 0;
}

/**
 * If a row ends without a match and the last strategy has no candidates, the candidates of an earlier strategy are the
 * reason. They are looked up again, because attempts share no state.
 */
async function recallRivals(
  tried: readonly Tried[],
  { catalog, options }: { catalog: OpenCatalog; options: LookupOptions },
): Promise<void> {
  const isSilent = ({ match, isLast }: Tried) => isLast && !match.found && match.candidates.length === 0;
  for (const strategy of options.strategies.slice(0, -1)) {
    const silent = tried.filter(isSilent);
    if (silent.length === 0) return;
    const items = silent.map(({ item }) => item);
    const matches = await catalog.lookUp(items, { strategy, options });
    for (const [index, one] of silent.entries()) {
      const match = matches[index] as LookupMatch;
      if (!match.found && match.candidates.length > 0) Object.assign(one, { match, strategy });
    }
  }
}

function outcomeOf({ match, strategy, isLast }: Omit<Tried, 'item'>, catalog: OpenCatalog): ItemOutcome {
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
