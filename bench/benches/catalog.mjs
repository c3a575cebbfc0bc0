import { makeProducts, makeRows, rowKinds } from '../../test/match-quality/products.ts';
import { qualityOf } from '../../test/match-quality/quality.ts';
import { loadProducts } from '../harness/catalog-sluice.mjs';
import { format } from '../harness/figures.mjs';
import { withDatabase } from '../harness/item-jobs.mjs';

const fuzzy = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8];
const ways = [
  { label: 'brand_title', strategies: ['brand_title'] },
  ...fuzzy.map((threshold) => ({
    label: `fuzzy_title from ${threshold}`,
    strategies: ['fuzzy_title'],
    threshold,
  })),
  { label: 'all by default', strategies: ['sku', 'brand_title', 'fuzzy_title'] },
];
const rowsPerProduct = 0.2;

export const bench = {
  name: 'catalog',
  title: 'What a catalogue finds',
  about: `
Products of made-up brands, a third of which differ from their neighbours in size only and a third in colour only, and
rows that ask for them: in another spelling, with one to three typos, with swapped words, without the brand, with other
units, with more words; and rows that mean no product of the catalogue, either by a near miss (another size, model or
colour) or altogether. No row has a SKU. Precision is the share of answers that were right, recall the share of rows
with a product that got it, both in per cent; of rows without a product the column says how many were left unanswered.
A near miss of another colour is what likeness cannot see: where that matters, choose \`brand_title\`, or a higher
threshold. The products are made by [test/match-quality](../../test/match-quality); \`npm test\` holds the defaults to
it.`,
  size: 5_000,
  metrics: [
    { key: 'precision', title: 'precision, %', better: 'more' },
    { key: 'recall', title: 'recall, %', better: 'more' },
    ...rowKinds.map((kind) => ({ key: kind, title: `${kind}, %`, better: 'more' })),
  ],
  async open({ server, size }) {
    const products = makeProducts(size);
    const rows = makeRows(products, Math.max(rowKinds.length, Math.round(size * rowsPerProduct)));
    const database = await server.sluiceDatabase();
    const catalog = await loadProducts(database, products);
    return {
      contenders: ways.map(({ label, strategies, threshold }) => ({
        label,
        measure: () => measure({ database, catalog, rows, strategies, threshold }),
      })),
    };
  },
  targets: [
    {
      text: 'by default 95 % precision and 97 % recall',
      judge(figureOf) {
        const [precision, recall] = ['precision', 'recall'].map((key) => figureOf('all by default', key));
        return {
          reached: precision >= 95 && recall >= 97,
          figure: `${format(precision)} %, ${format(recall)} %`,
        };
      },
    },
    {
      text: 'brand_title is never wrong',
      judge(figureOf) {
        const precision = figureOf('brand_title', 'precision');
        return { reached: precision === 100, figure: `${format(precision)} %` };
      },
    },
  ],
};

async function measure({ database, catalog, rows, strategies, threshold }) {
  const { matchQuestions } = await import('../../dist/modules/ingest/catalog/service.js');
  const { defaultSettings } = await import('../../dist/modules/ingest/catalog/matching/matching.js');
  const questions = rows.map(({ brand, title }) => ({ sku: null, brand, title }));
  const settings = { ...defaultSettings, ...(threshold === undefined ? {} : { threshold }) };
  const tried = await withDatabase(database, (db) =>
    matchQuestions(db, catalog, { questions, strategies, settings }),
  );
  const found = tried.map(({ match }) => (match.found ? match.product.sku : null));
  const { precision, recall, byKind } = qualityOf(rows, found);
  return { precision, recall, ...byKind };
}
