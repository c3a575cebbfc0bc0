import { afterAll, describe, expect, test } from 'vitest';
import { cutAt } from '../../../../test/generators/byte-stream.ts';
import { readRows } from '../../../../test/generators/read-rows.ts';
import { cell, row, textRow, workbookOf } from '../../../../test/generators/workbook.ts';
import { greedyWorkbook, workbookBombs } from '../../../../test/generators/workbook-bombs.ts';
import { openRows } from '../open-rows.ts';
import type { RowReader } from '../types.ts';
import { WorkbookReaders } from './workbook-readers.ts';

const readers = new WorkbookReaders();
afterAll(() => readers.close());

const never = new AbortController().signal;
const MiB = 1024 * 1024;

function open(book: Buffer, { signal = never, sheet }: { signal?: AbortSignal; sheet?: string } = {}) {
  return openRows(cutAt(book, []), {
    sheet,
    openWorkbook: (file, options) => readers.open(file, { ...options, signal }),
  });
}

async function rowsOf(reader: RowReader): Promise<string[]> {
  const all: string[] = [];
  for (let rows = await reader.read(700, MiB); rows !== null; rows = await reader.read(700, MiB)) {
    all.push(...rows.map(({ inputJson }) => inputJson));
  }
  await reader.close();
  return all;
}

const texts = Array.from({ length: 3_000 }, (_, at) => `text ${at}`);
const ordinary = workbookOf({
  sheets: [
    {
      rows:
        textRow('a', 'b') + texts.map((_, at) => row(cell(String(at), 't="s"'), cell(String(at)))).join(''),
    },
    { name: 'Other', rows: textRow('x') + textRow('y') },
  ],
  strings: texts.map((text) => `<si><t>${text}</t></si>`).join(''),
});

describe('a workbook that is read in a thread', () => {
  test('has the same rows as one that is read here, several at once', async () => {
    const [here, ...there] = await Promise.all([
      readRows(ordinary),
      ...[1, 2, 3].map(async () => rowsOf(await open(ordinary))),
    ]);
    for (const rows of there) expect(rows).toEqual(here?.rows);
    expect(await rowsOf(await open(ordinary, { sheet: 'Other' }))).toEqual(['{"x":"y"}']);
  });

  test('is refused with the same errors', async () => {
    const bomb = workbookBombs.find(({ what }) => what.includes('very many cells in the header'));
    const refused = open(Buffer.concat([...(bomb?.content() ?? [])]));
    await expect(refused).rejects.toMatchObject({ code: 'too_many_columns', kind: 'invalid' });
    await expect(open(ordinary, { sheet: 'Nowhere' })).rejects.toMatchObject({ code: 'sheet_not_found' });
  });

  test('stops in the middle of its texts when nobody wants it any more', { timeout: 120_000 }, async () => {
    const gone = new AbortController();
    const opening = open(greedyWorkbook(), { signal: gone.signal });
    setImmediate(() => gone.abort(new Error('the client has gone')));
    await expect(opening).rejects.toThrow('the client has gone');
  });

  test('does not hold up another one after it was closed', async () => {
    const reader = await open(ordinary);
    await reader.read(1, MiB);
    await Promise.all([reader.close(), reader.close()]);
    await expect(reader.read(1, MiB)).rejects.toThrow('after it was closed');
    expect(await rowsOf(await open(ordinary))).toHaveLength(3_000);
  });

  test('fails with a reason when its thread ends, and the next one gets another thread', async () => {
    const reader = await open(ordinary);
    await readers.close();
    await expect(reader.read(1, MiB)).rejects.toMatchObject({
      code: 'workbook_reader_failed',
      kind: 'transient',
    });
    await reader.close();
    expect(await rowsOf(await open(ordinary))).toHaveLength(3_000);
  });
});
