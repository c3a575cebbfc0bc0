import { afterAll, expect, test } from 'vitest';
import { jsonOf } from '../../src/ingest/items/processing/outcomes.ts';
import { jsonBlockOf } from '../../src/ingest/items/processing/processors/llm/json-block.ts';
import { readCaptions } from '../../src/ingest/knowledge/formats/captions.ts';
import { readFrontMatter } from '../../src/ingest/knowledge/formats/front-matter.ts';
import { readMarkdown } from '../../src/ingest/knowledge/formats/plain-text.ts';
import { defaultDocumentLimits } from '../../src/ingest/knowledge/formats/types.ts';
import { linkOf } from '../../src/ingest/knowledge/search/passage-link.ts';
import { type ColumnKinds, kindsOf } from '../../src/ingest/uploads/reports/dimensions/column-kinds.ts';
import { withoutCurrency } from '../../src/ingest/uploads/reports/values/currencies.ts';
import { readLinks } from '../../src/kernel/crawl/links.ts';
import { exactNumber, parseExactly } from '../../src/lib/rows/exact-json.ts';
import { Tally } from './tally.ts';

// Our own patterns on texts that tenants send: none tries the ways to divide a long run of the same characters, which
// takes minutes to years for these lengths.
const tally = new Tally('Patterns on long runs', 120);
afterAll(() => expect(tally.report()).toBeGreaterThanOrEqual(tally.quota));

const limits = defaultDocumentLimits;
const options = { limits, charset: null, onProgress: () => {} };
const site = { url: 'https://a.example/', robotsTag: undefined, product: 'sluice', maxLinks: 10 };
const passage = {
  kbId: 'kb',
  documentId: 'd',
  uri: 'https://a.example/',
  mediaType: 'text/html',
  address: null,
};
const nameless = { headers: [], columns: {} };

function kindOfCells(cell: string): ColumnKinds {
  const columns = { ...nameless, unmapped: [{ index: 0, header: 'Odd' }], format: 'csv' };
  const rest = { aliases: { suggest: () => null }, rows: [[cell]], known: {} };
  return kindsOf(columns as never, rest as never);
}

/** What reads a text of a tenant with patterns of our own. */
const readers: Record<string, (text: string) => unknown> = {
  'an amount of money': withoutCurrency,
  'the cells of a column': kindOfCells,
  'a result with NUL characters': (text) => jsonOf(`${text}\0`),
  'the answer of a model': jsonBlockOf,
  'a digit by digit number': (text) => exactNumber(`1.${text.replace(/\D/g, '0')}1`),
  'the answer of a provider': (text) => parsedOrNot(`[1234567890123456,${text}`),
  'front matter': (text) => readFrontMatter(`---\na${text}: b ${text} c\n---\n`),
  'a heading of Markdown': (text) => readMarkdown(Buffer.from(`# ${text}\u2028`), options),
  captions: (text) => readCaptions(Buffer.from(`WEBVTT\n\n00:01.000 --> 00:02.000\n<v ${text}\n`), options),
  'a passage that is found': (text) => linkOf({ ...passage, text, start: 0, page: null }),
  'a page that leads on': (text) => readLinks(`<meta http-equiv="refresh" content="0 ${text}">`, site),
};

function parsedOrNot(json: string): unknown {
  try {
    return parseExactly(json);
  } catch {
    return null;
  }
}

const runs = [' ', '\t', '0', "0 '", '-\\"\\', '\\', '[', '[(', '``` ', '<v.', "' ", '1,', '"'];

test.each(Object.entries(readers))('%s is read in time however long a run it has', async (what, read) => {
  for (const run of runs) {
    const startedAtMs = performance.now();
    await read(`${run.repeat(Math.floor(60_000 / run.length))}\0z`);
    // Far more than a busy machine needs for any of them.
    const tookMs = performance.now() - startedAtMs;
    tally.ok(tookMs < 5_000, `${what} of ${JSON.stringify(run)} took ${Math.round(tookMs)} ms`);
  }
});
