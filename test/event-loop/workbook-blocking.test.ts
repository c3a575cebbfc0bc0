import { expect, test } from 'vitest';
import { cell, row, textRow, workbookOf } from '../generators/workbook.ts';
import { useServerProcess } from '../support/servers/server-process.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { longestBlockMs, useBlockingProbe } from './blocking.ts';

const blocking = useBlockingProbe();
const database = useDatabase();
const server = useServerProcess(database, { ...blocking.env, SLUICE_WORKER: 'false' });

const texts = Array.from({ length: 40_000 }, (_, at) => `text ${at} of the workbook`);
const strings = texts.map((text) => `<si><t>${text}</t></si>`).join('');
const many = Array.from({ length: 40_000 }, (_, at) =>
  row(cell(String(at), 't="s"'), cell(String(at / 8)), '<c/>', '<c t="inlineStr"><is><t>inline</t></is></c>'),
);
const long = `<si><t>${'a long text '.repeat(50_000)}</t></si>`;
const naming = Array.from({ length: 40 }, () => row(cell('0', 't="s"'), cell('0', 't="s"')));
const books = {
  'many rows and texts': { rows: textRow('a', 'b', 'c', 'd') + many.join(''), strings, count: 40_000 },
  'a long text that many cells name': { rows: textRow('a', 'b') + naming.join(''), strings: long, count: 40 },
};

test.each(Object.entries(books))(
  'the main thread is not blocked by a workbook of %s',
  { timeout: 120_000 },
  async (name, { rows, strings: shared, count }) => {
    const tenantId = await newTenant(database);
    const form = new FormData();
    form.set(
      'file',
      new Blob([new Uint8Array(workbookOf({ sheets: [{ rows }], strings: shared }))]),
      'a.xlsx',
    );
    const headers = await server.bearer({ tenantId });
    const blocks = await blocking.during(name, async () => {
      const answer = await fetch(`${server.url}/api/jobs`, { method: 'POST', headers, body: form });
      expect(answer.status, await answer.clone().text()).toBe(201);
    });
    const [stored] = await database.owner('select count(*) from job_items where tenant_id = $1', [tenantId]);
    expect(stored).toEqual({ count: String(count) });
    expect(blocks[0] ?? 0).toBeLessThanOrEqual(longestBlockMs);
  },
);
