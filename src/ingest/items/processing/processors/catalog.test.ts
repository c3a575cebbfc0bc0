import { expect, test } from 'vitest';
import { itemsOf, processorContext } from '../../../../../test/support/worlds/processor-context.ts';
import type { CatalogDoor } from '../../../../kernel/house/doors.ts';
import { databaseErrors } from '../../../../lib/postgres/db-errors.ts';
import { catalogOptions } from '../../../catalog/matching/options.ts';
import { readQuestion } from '../../../catalog/matching/product-fields.ts';
import type { Match, Question, Strategy } from '../../../catalog/types.ts';
import { catalogProcessor } from './catalog.ts';
import type { ItemInput, ProviderCall } from './types.ts';

const nothing: Match = { found: false, reason: 'nothing', candidates: [] };

interface Lookup {
  strategy: Strategy;
  questions: Question[];
}

/** What was asked, and what is answered. */
function stage(answer: (lookup: Lookup) => Match[]) {
  const lookups: Lookup[] = [];
  const calls: ProviderCall[] = [];
  const catalogs: CatalogDoor = {
    options: catalogOptions,
    assertStrategies: async () => {},
    open: async () => ({
      name: 'main',
      version: 3,
      lookUp: async (rows, { strategy, options }) => {
        const { fields } = catalogOptions.parse(options);
        const questions = rows.map(({ input, normalized }) => readQuestion(input, fields, normalized));
        const lookup = { strategy: strategy as Strategy, questions };
        lookups.push(lookup);
        return answer(lookup);
      },
    }),
  };
  const context = processorContext({ log: (call) => void calls.push(call) });
  const processor = catalogProcessor(catalogs);
  const run = (items: ItemInput[], options = {}) =>
    processor.process(items, { catalog: 'main', ...options }, context);
  return { lookups, calls, run, processor };
}

const at = (item: ItemInput, place: { strategy: number; attempts: number }): ItemInput => ({
  id: item.id,
  rowNo: item.rowNo,
  input: item.input,
  inputJson: item.inputJson,
  normalized: item.normalized,
  ...place,
});

test('rows on one strategy share a lookup, and each strategy has its own', async () => {
  const { lookups, run } = stage(({ questions }) => questions.map(() => nothing));
  const [a, b, c] = itemsOf({ sku: '1' }, { sku: '2' }, { title: 'x' }) as [ItemInput, ItemInput, ItemInput];
  await run([a, at(c, { strategy: 1, attempts: 2 }), b]);
  expect(
    lookups.map(({ strategy, questions }) => [strategy, questions.map(({ sku, title }) => sku ?? title)]),
  ).toEqual([
    ['sku', ['1', '2']],
    ['brand_title', ['x']],
  ]);
});

test('a row goes on to the next strategy at once, and ends after the last one', async () => {
  const { run } = stage(({ questions }) => questions.map(() => nothing));
  const [item] = itemsOf({ sku: '1' }) as [ItemInput];
  const retries = [];
  for (const attempts of [1, 2, 3])
    retries.push(...(await run([at(item, { strategy: attempts - 1, attempts })])));
  expect(retries.map((outcome) => outcome.status === 'NOT_FOUND' && outcome.retry)).toEqual([
    'at_once',
    'at_once',
    'never',
  ]);
});

test('a row that begins in the middle, as after a reprocess, still goes through every strategy', async () => {
  const { lookups, run } = stage(({ questions }) => questions.map(() => nothing));
  const [item] = itemsOf({ sku: '1' }) as [ItemInput];
  for (let place = { strategy: 2, attempts: 1 }; place.attempts < 10; ) {
    const [outcome] = await run([at(item, place)]);
    if (outcome?.status === 'NOT_FOUND' && outcome.retry === 'never') break;
    place = { strategy: place.strategy + 1, attempts: place.attempts + 1 };
  }
  expect(lookups.map(({ strategy }) => strategy)).toEqual([
    'fuzzy_title',
    'sku',
    'brand_title',
    'fuzzy_title',
    // All have found nothing; these two are looks for rivals to tell of.
    'sku',
    'brand_title',
  ]);
});

test('the result has the product, the strategy and the version; the calls list which rows were found', async () => {
  const product = { sku: '1', shelf: 'A1', matchScore: 'a column of the same name' };
  const { calls, run } = stage(() => [{ found: true, score: 0.9, product }, nothing]);
  const [found] = await run(itemsOf({ sku: '1' }, { sku: '2' }));
  const how = { matchStrategy: 'sku', matchScore: 0.9, catalogVersion: 3 };
  expect(found).toEqual({ status: 'DONE', result: { ...product, ...how } });
  expect(calls.map(({ provider, itemIds, outcome }) => [provider, itemIds, outcome])).toEqual([
    ['catalog:main', [1], 'done'],
    ['catalog:main', [2], 'not_found'],
  ]);
});

test('a lookup that fails is tried again in the same way', async () => {
  const { run } = stage(() => {
    throw databaseErrors.raise.query_timeout('too slow');
  });
  expect(await run(itemsOf({ sku: '1' }))).toMatchObject([
    { status: 'ERROR', code: 'query_timeout', class: 'transient', keepsStrategy: true },
  ]);
});

test('columns are those that the options name, and otherwise the well-known ones', async () => {
  const { lookups, run } = stage(({ questions }) => questions.map(() => nothing));
  await run(itemsOf({ 'Product Name': 'Lamp', Code: 7, brand: 'Acme' }), { fields: { sku: 'Code' } });
  expect(lookups[0]?.questions).toEqual([{ sku: '7', brand: 'Acme', title: 'Lamp' }]);
});

test.each([
  [{}, '/options/catalog'],
  [{ catalog: 'No Name' }, '/options/catalog'],
  [{ catalog: 'main', strategies: ['sku', 'sku'] }, '/options/strategies'],
  [{ catalog: 'main', strategies: ['magic'] }, '/options/strategies/0'],
  [{ catalog: 'main', threshold: 2 }, '/options/threshold'],
  [{ catalog: 'main', fields: { price: 'x' } }, '/options/fields'],
])('options %j are refused at their place', (options, pointer) => {
  const { processor } = stage(() => []);
  expect(() => processor.validateOptions(options)).toThrow(pointer);
});
