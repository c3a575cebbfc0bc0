import { expect, test } from 'vitest';
import { readRows, refusalOf } from '../../../../test/generators/read-rows.ts';
import { cell, row, textRow, workbookOf } from '../../../../test/generators/workbook.ts';
import { workbookBombs } from '../../../../test/generators/workbook-bombs.ts';
import { growthDuring } from '../../../../test/support/probes/held-memory.ts';

const mostBytes = 160 * 1024 * 1024;

const codes: Record<string, string> = {
  'a workbook with a sheet of a gigabyte of zeros': 'archive_unfolds_too_far',
  'a workbook with a sheet of a gigabyte of spaces': 'archive_unfolds_too_far',
  'a workbook with a gigabyte in one cell': 'cell_too_large',
  'a workbook with a million shared texts and no row': 'no_rows',
  'a workbook with a long text that every cell names': 'archive_unfolds_too_far',
  'a workbook with long names over empty rows': 'archive_unfolds_too_far',
  'a workbook with very many cells in the header': 'too_many_columns',
  'a workbook of a hundred thousand parts': 'archive_unfolds_too_far',
};

test.each(workbookBombs)(
  '($what) is refused in little memory',
  { timeout: 60_000 },
  async ({ what, content }) => {
    const bytes = Buffer.concat([...content()]);
    const refusing = async () => {
      expect((await refusalOf(bytes)).code).toBe(codes[what] ?? 'malformed_workbook');
    };
    const grown = await growthDuring(refusing, { mostBytes });
    expect(grown).toBeLessThan(mostBytes);
  },
);

test('texts beyond the memory limit are read back from a file', {
  timeout: 60_000,
}, async () => {
  const texts = Array.from({ length: 60_000 }, (_, at) => `text ${at} ${'\u00e4'.repeat(100 + (at % 50))}`);
  const strings = texts.map((text) => `<si><t>${text}</t></si>`).join('');
  // In order, backwards, and at random places.
  const wanted = [...texts.keys()].flatMap((at) => [at, texts.length - 1 - at, (at * 7_919) % texts.length]);
  const rows = textRow('a') + wanted.map((at) => row(cell(String(at), 't="s"'))).join('');
  const read = await readRows(workbookOf({ sheets: [{ rows }], strings }));
  expect(read.rows).toEqual(wanted.map((at) => JSON.stringify({ a: texts[at] })));
});
