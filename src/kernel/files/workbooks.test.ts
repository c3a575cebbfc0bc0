import { afterAll, expect, test } from 'vitest';
import { cutAt } from '../../../test/generators/byte-stream.ts';
import { textRow, workbookOf } from '../../../test/generators/workbook.ts';
import { openRows } from '../../lib/rows/open-rows.ts';
import { Workbooks } from './workbooks.ts';

const workbooks = new Workbooks({ perTenant: 2 });
afterAll(() => workbooks.close());

const book = workbookOf({ sheets: [{ rows: textRow('a') + textRow('1') }] });
const signal = new AbortController().signal;

const open = (tenantId: string, gone: AbortSignal = signal) =>
  openRows(cutAt(book, []), { openWorkbook: workbooks.forRequest({ tenantId, signal: gone }) });

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('a tenant has a few workbooks open at once, and the next one waits until one is closed', async () => {
  const [first, second] = [await open('t'), await open('t')];
  let isOpen = false;
  const third = open('t').then((reader) => {
    isOpen = true;
    return reader;
  });
  const other = await open('another');
  await settled();
  expect(isOpen).toBe(false);
  await first.close();
  expect(await (await third).read(10, 1_000)).toHaveLength(1);
  for (const reader of [second, await third, other]) await reader.close();
});

test('one that waits leaves the queue when its client goes, and one that fails gives its slot back', async () => {
  const held = [await open('t'), await open('t')];
  const gone = new AbortController();
  const waiting = open('t', gone.signal);
  gone.abort(new Error('the client has gone'));
  await expect(waiting).rejects.toThrow('the client has gone');
  for (const reader of held) await reader.close();
  for (let at = 0; at < 5; at += 1) {
    const openWorkbook = workbooks.forRequest({ tenantId: 't', signal });
    await expect(openRows(cutAt(book, []), { sheet: 'Nowhere', openWorkbook })).rejects.toMatchObject({
      code: 'sheet_not_found',
    });
  }
  await (await open('t')).close();
});
