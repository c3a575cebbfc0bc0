import { expect, test } from 'vitest';
import { cutAt } from '../../../../test/generators/byte-stream.ts';
import { cell, row, textRow, workbookOf } from '../../../../test/generators/workbook.ts';
import { growthDuring } from '../../../../test/support/probes/held-memory.ts';
import { writeXlsx } from '../../../ingest/items/export/xlsx-writer.ts';
import type { TableRow } from '../../tables/types.ts';
import { openRows } from '../open-rows.ts';

const rows = 60_000;
const MiB = 1024 * 1024;

/** 25 MB of XML, made while it is sent. */
function* batches(): Generator<TableRow[]> {
  for (let first = 0; first < rows; first += 1_000) {
    yield Array.from({ length: 1_000 }, (_, at) => [
      first + at,
      `the title of product ${first + at}, which no other has`,
      (first + at) / 4,
      at % 2 === 0,
      `the description of product ${first + at}, which is a little longer than its title`,
      null,
    ]);
  }
}

test('a long sheet is read in flat memory, in batches, only as far as requested', {
  timeout: 60_000,
}, async () => {
  const reader = await openRows(
    writeXlsx(batches(), { header: ['n', 'title', 'price', 'even', 'description', 'empty'] }),
  );
  let read = 0;
  const reading = async () => {
    for (;;) {
      const batch = await reader.read(500, MiB);
      if (batch === null) break;
      read += batch.length;
      expect(batch.length).toBeLessThanOrEqual(500);
    }
    await reader.close();
  };
  const mostBytes = 64 * MiB;
  const grown = await growthDuring(reading, { mostBytes });
  expect(read).toBe(rows);
  expect(grown).toBeLessThan(mostBytes);
});

test('rows that are long only because of their column names do not pile up in memory', async () => {
  const names = Array.from({ length: 1_000 }, (_, at) => `${at}`.padEnd(200, 'x'));
  const book = workbookOf({ sheets: [{ rows: textRow(...names) + row(cell('1')).repeat(3_000) }] });
  // Reading further than asked would meet this limit, which is an error at once.
  const reader = await openRows(cutAt(book, []), { limits: { rows: 100 } });
  expect(await reader.read(2, MiB)).toHaveLength(2);
  await reader.close();
});
