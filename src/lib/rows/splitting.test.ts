import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cutAt } from '../../../test/generators/byte-stream.ts';
import { readAll } from '../../../test/generators/read-rows.ts';
import {
  delimitedDocument,
  jsonArrayDocument,
  jsonLinesDocument,
  type RowDocument,
} from '../../../test/generators/row-documents.ts';
import { jsonMembers } from './json-members.ts';
import { openRows } from './open-rows.ts';

/** Where a document is cut on its way in, and into which pieces the reader cuts it again. */
const cuts = fc.record({
  offsets: fc.array(fc.nat({ max: 600 }), { maxLength: 12 }),
  pieceBytes: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 200 })),
});

type Cuts = typeof cuts extends fc.Arbitrary<infer Value> ? Value : never;

async function read({ bytes, delimiter }: RowDocument, { offsets, pieceBytes }: Cuts): Promise<string[]> {
  const options = { delimiter: delimiter as ',', limits: { pieceBytes } };
  const reader = await openRows(
    cutAt(bytes, offsets),
    delimiter === null ? { limits: { pieceBytes } } : options,
  );
  return readAll(reader);
}

const membersOf = (json: string) => [...jsonMembers(json)].map(({ key, valueText }) => [key, valueText]);
const runs = { numRuns: 400 };

describe('wherever the bytes are split', () => {
  test('delimited text gives exactly the cells that were written, as text', async () => {
    await fc.assert(
      fc.asyncProperty(delimitedDocument, cuts, async (document, cuts) => {
        const rows = await read(document, cuts);
        const expected = document.rows.map((row) =>
          row.map(([name, value]) => [name, JSON.stringify(value)]),
        );
        expect(rows.map(membersOf)).toEqual(expected);
      }),
      runs,
    );
  });

  test('JSON arrays give each value as it was written', async () => {
    await fc.assert(
      fc.asyncProperty(jsonArrayDocument, cuts, async (document, cuts) => {
        expect((await read(document, cuts)).map(membersOf)).toEqual(document.rows);
      }),
      runs,
    );
  });

  test('NDJSON gives each line as it was written', async () => {
    await fc.assert(
      fc.asyncProperty(jsonLinesDocument, cuts, async (document, cuts) => {
        const rows = await read(document, cuts);
        expect(rows.map(membersOf)).toEqual(document.rows);
        expect(rows).toEqual(document.text.split('\n'));
      }),
      runs,
    );
  });
});

test('another CSV parser sees the same cells', async () => {
  await fc.assert(
    fc.asyncProperty(delimitedDocument, cuts, async (document, cuts) => {
      const { delimiter, text } = document;
      const theirs = parse(text, {
        delimiter: delimiter ?? ',',
        skip_empty_lines: true,
        record_delimiter: [],
      });
      const ours = (await read(document, cuts)).map((json) => [...jsonMembers(json)]);
      const names = ours[0]?.map(({ key }) => key);
      const values = ours.map((row) => row.map(({ valueText }): unknown => JSON.parse(valueText)));
      expect([names, ...values]).toEqual(theirs);
    }),
    runs,
  );
});
