import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readReport, reportDocument } from '../../../../../test/generators/report-documents.ts';
import type { ResumePoint } from '../types.ts';

/** How the source splits a report, how the reader splits it again, and how many rows are requested. */
const ways = fc.record({
  cuts: fc.array(fc.nat({ max: 900 }), { maxLength: 12 }),
  limits: fc.record({
    pieceBytes: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 300 })),
    batchLength: fc.integer({ min: 1, max: 200 }),
  }),
  batchRows: fc.integer({ min: 1, max: 5 }),
});

const runs = { numRuns: 200 };

/** A resume point as read from a checkpoint. */
const stored = (point: ResumePoint) => JSON.parse(JSON.stringify(point)) as ResumePoint;

describe('a delimited report, however it is split', () => {
  test('gives exactly the cells that were written, in every encoding', async () => {
    await fc.assert(
      fc.asyncProperty(reportDocument, ways, async (document, { cuts, limits, batchRows }) => {
        const { layout, rows } = await readReport(document.bytes, {
          cuts,
          batchRows,
          limits,
        });
        const { encoding, delimiter, headers, title } = document;
        expect(layout).toEqual({ format: 'delimited', encoding, delimiter, headers, titleLines: [title] });
        expect(rows.map(({ cells }) => cells)).toEqual(document.rows);
        expect(rows.map(({ rowIndex }) => rowIndex)).toEqual(document.rows.map((_, at) => at));
      }),
      runs,
    );
  });

  test('resumes after any batch with exactly the rows that are left, from their first byte', async () => {
    await fc.assert(
      fc.asyncProperty(reportDocument, ways, async ({ bytes }, { cuts, limits, batchRows }) => {
        const whole = await readReport(bytes, { cuts, batchRows, limits });
        expect(whole.resumes).toHaveLength(whole.batchSizes.length);
        for (const point of whole.resumes) {
          const rest = await readReport(bytes, { cuts, resume: stored(point), batchRows: 3 });
          expect(rest.rows).toEqual(whole.rows.slice(point.nextRowIndex));
          expect(rest.layout).toEqual(whole.layout);
          // Nothing before the position is needed: the remaining bytes alone give the same rows.
          const alone = await readReport(bytes.subarray(point.byteOffset), {
            resume: { ...stored(point), byteOffset: 0 },
          });
          expect(alone.rows).toEqual(rest.rows);
        }
      }),
      runs,
    );
  });
});

const scalar = fc.oneof(
  fc.constantFrom('0', '103606.770', '1202000000000000001', '-0', '1e3', 'true', 'null'),
  fc.string({ unit: 'binary', maxLength: 6 }).map((text) => JSON.stringify(text)),
);
const record = fc
  .tuple(scalar, scalar, fc.constantFrom('', ' ', '\n  ', '\r\n'))
  .map(([id, name, gap]) => `{${gap}"id":${gap}${id},"inner":{"name":${name}${gap}}}`);
const jsonReport = fc
  .record({
    shape: fc.constantFrom('array', 'ndjson', 'meta', 'google', 'google pages', 'tiktok'),
    records: fc.array(record, { minLength: 1, maxLength: 8 }),
    encoding: fc.constantFrom('utf8', 'utf16le' as const),
  })
  .map(({ shape, records, encoding }) => {
    const half = Math.floor(records.length / 2);
    const [first, second] = [records.slice(0, half), records.slice(half)];
    const list = (part: string[]) => part.join(' ,\n');
    const text = {
      array: `[${list(records)}]\n`,
      ndjson: records.join('\n'),
      meta: `{"data":[${list(records)}],"paging":{"cursors":{"after":"]}"}}}`,
      google: `{"results":[${list(records)}],"fieldMask":"a,b"}`,
      'google pages': `[{"results":[${list(first)}],"requestId":"x"},\n{"results":[${list(second)}]}]`,
      tiktok: `{"code":0,"message":"OK","data":{"page_info":{"page":1},"list":[${list(records)}]},"request_id":"1"}`,
    }[shape];
    return { shape: shape.split(' ')[0], records, bytes: Buffer.from(`\ufeff${text}`, encoding) };
  });

describe('a JSON report, however it is split', () => {
  test('gives every number as written and every string with its value', async () => {
    await fc.assert(
      fc.asyncProperty(jsonReport, ways, async ({ shape, records, bytes }, { cuts, limits, batchRows }) => {
        const { layout, rows } = await readReport(bytes, { cuts, batchRows, limits });
        expect(layout).toMatchObject({ format: 'json', shape, headers: ['id', 'inner.name'] });
        expect(rows.map(({ cells }) => cells)).toEqual(records.map(writtenCells));
      }),
      runs,
    );
  });

  test('resumes after any batch with exactly the records that are left', async () => {
    await fc.assert(
      fc.asyncProperty(jsonReport, ways, async ({ bytes }, { cuts, limits, batchRows }) => {
        const whole = await readReport(bytes, { cuts, batchRows, limits });
        for (const point of whole.resumes) {
          const rest = await readReport(bytes, { cuts, resume: stored(point), limits });
          expect(rest.rows).toEqual(whole.rows.slice(point.nextRowIndex));
        }
      }),
      runs,
    );
  });
});

function writtenCells(record: string): string[] {
  const [, id = '', name = ''] = /^\{\s*"id":\s*(.*),"inner":\{"name":(.*?)\s*\}\}$/s.exec(record) ?? [];
  return [id, name].map((text) => {
    if (text === 'null') return '';
    return text.startsWith('"') ? String(JSON.parse(text)) : text;
  });
}

const damagedLine = fc.constantFrom(
  '{"id":1,"inner":',
  '{"id":1,"inner":{"name":"é',
  'not json at all',
  'null',
  '{"id":tru}',
  '{"id":[[[[[[1]]]]]]}',
  `{"id":"${'é'.repeat(30)}"}`,
  `{"id":[${'1,'.repeat(100)}1]}`,
  `${'x'.repeat(500)}`,
);
const damagedRow = fc.constantFrom(
  `1,${'é'.repeat(30)}`,
  `1,${'x'.repeat(300)},"a\n""b",c`,
  `"1\r\n","${'x""'.repeat(30)}"`,
  '1,2,3,4,5,6,7',
);
const strict = { cellLength: 20, rowLength: 120, columns: 6, jsonDepth: 4 };

describe('a report with damaged rows, however it is split', () => {
  test.each([
    ['lines of JSON', '{"id":0}\n', damagedLine, '{"id":7,"inner":{"name":"x"}}'],
    ['delimited text', 'Day,a,b\n0,0\n', damagedRow, '7,"x\ny"'],
  ])('%s: has the same rows and problems, and resumes after any batch', async (_, start, damaged, good) => {
    const rows = fc.array(fc.oneof(damaged, fc.constant(good)), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(
        rows,
        fc.constantFrom('\n', '\r\n'),
        ways,
        async (lines, mark, { cuts, limits, batchRows }) => {
          const bytes = Buffer.from(`${start}${lines.join(mark)}${mark}`);
          const whole = await readReport(bytes, { limits: strict });
          expect(whole.rows.filter(({ problem }) => problem !== undefined)).toHaveLength(
            lines.filter((line) => line !== good).length,
          );
          const told = (report: typeof whole) =>
            report.rows.map(({ cells: [first], ...row }) => ({ first, ...row }));
          const split = await readReport(bytes, { cuts, batchRows, limits: { ...limits, ...strict } });
          expect(told(split)).toEqual(told(whole));
          for (const point of split.resumes) {
            const rest = await readReport(bytes, {
              cuts,
              resume: stored(point),
              limits: { ...limits, ...strict },
            });
            expect(told(rest)).toEqual(told(whole).slice(point.nextRowIndex));
          }
        },
      ),
      runs,
    );
  });
});
