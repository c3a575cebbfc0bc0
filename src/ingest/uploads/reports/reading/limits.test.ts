import { describe, expect, test } from 'vitest';
import { endless } from '../../../../../test/generators/byte-stream.ts';
import { dayHeader, readReport, reportRefusal } from '../../../../../test/generators/report-documents.ts';
import { growthDuring } from '../../../../../test/support/probes/held-memory.ts';
import { isSluiceError } from '../../../../lib/errors.ts';
import { openReport } from './open-report.ts';

const MiB = 1024 * 1024;

describe('a file that is not a report is refused with one sentence', () => {
  test.each([
    ['no bytes', '', 'report_empty', 'no bytes'],
    ['only blank lines', ' \r\n\n\t\n', 'report_empty', 'only blank lines'],
    ['only a byte order mark', '\ufeff', 'report_empty', 'only blank lines'],
    ['an archive', Buffer.from('1f8b0800', 'hex'), 'report_not_text', 'a gzip archive'],
    ['zeros', Buffer.alloc(500), 'report_not_text', 'binary'],
    ['a web page', '<html><body>Log in</body></html>', 'report_not_tabular', 'an HTML page'],
    ['prose', 'Dear all,\nplease find the report attached.\n', 'no_header', 'No header'],
    [
      'a quote that is not closed',
      'Day,a\n1,2\n3,"x\ny\n',
      'report_quote_unclosed',
      'line 3 opens a quote in column 2',
    ],
    ['a title that is not closed', '"Report\nDay,a\n1,2\n', 'report_quote_unclosed', 'line 1'],
  ])('%s', async (_, file, code, words) => {
    const error = await reportRefusal(file);
    expect({ code: error.code, message: error.message }).toEqual({
      code,
      message: expect.stringContaining(words),
    });
  });
});

describe('limits are exact', () => {
  const limits = { columns: 3, cellLength: 10, rowLength: 25, lines: 3, jsonDepth: 2 };
  test.each([
    ['columns of the header', 'report_too_many_columns', 'Day,a,b\n1\n', 'Day,a,b,c\n1\n'],
    ['lines', 'report_too_many_lines', 'Day,a\n1,1\n2,2\n', 'Day,a\n1,1\n2,2\n3,3\n'],
    ['a JSON record', 'report_row_too_large', '{"a":1,"bc":"123456789"}', '{"a":1,"bcd":"12345678901"}'],
    ['JSON fields', 'report_too_many_columns', '{"a":1,"b":1}\n{"c":1}', '{"a":1,"b":1}\n{"c":1,"d":1}'],
    [
      'JSON records',
      'report_too_many_lines',
      '{"a":1}\n{"a":2}\n{"a":3}',
      '{"a":1}\n{"a":2}\n{"a":3}\n{"a":4}',
    ],
    ['JSON depth', 'report_json_too_deep', '[{"a":[1]}]', '[{"a":[[1]]}]'],
  ])('%s', async (_, code, fits, exceeds) => {
    expect((await readReport(fits, { limits })).rows.length).toBeGreaterThan(0);
    for (const pieceBytes of [1, 7, 1_000]) {
      const error = await reportRefusal(exceeds, { limits: { ...limits, pieceBytes } });
      expect(error.code).toBe(code);
    }
  });
});

describe('limits of a row are exact and do not affect other rows', () => {
  const limits = { columns: 3, cellLength: 10, rowLength: 25 };
  test.each([
    ['a cell', 'a: cell_too_large', '1,1234567890', '1,12345678901'],
    ['a quoted cell', 'a: cell_too_large', '1,"1234567890"', '1,"12345678901"'],
    ['a row', 'row: row_too_large', '1234567890,1234567890,123', '1234567890,1234567890,1234'],
    [
      'a row with quotes',
      'row: row_too_large',
      '1,"2\n,""4",67890123456,8',
      '1,"2\n,""4",678901234567,"\n9"',
    ],
    ['columns', 'row: too_many_columns', '1,2,3', '1,2,3,4'],
  ])('%s', async (_, code, fits, exceeds) => {
    const file = (row: string) => `Day,a\n0,0\n${row}\n2,"x\ny"\r\n${row}\r\n3,3`;
    const read = await readReport(file(fits), { limits });
    expect(read.rows.every(({ problem }) => problem === undefined || fits.includes('67890'))).toBe(true);
    const reads = [1, 3, 7, 1_000].map((pieceBytes) =>
      readReport(file(exceeds), { limits: { ...limits, pieceBytes }, batchRows: 1 }),
    );
    const [first, ...others] = await Promise.all(reads);
    for (const other of others) expect(other.rows).toEqual(first?.rows);
    const rows = first?.rows ?? [];
    expect(
      rows.map(({ cells, problem }) => (problem ? `${problem.field}: ${problem.code}` : cells[0])),
    ).toEqual(['0', code, '2', code, '3']);
    const { resumes = [] } = first ?? {};
    for (const resume of resumes) {
      const rest = await readReport(file(exceeds), { limits: { ...limits, pieceBytes: 5 }, resume });
      expect(rest.rows).toEqual(rows.slice(resume.nextRowIndex));
    }
  });

  test('a JSON value', async () => {
    const { rows } = await readReport('{"a":1234567890}\n{"a":12345678901}\n{"a":1}', { limits });
    expect(rows.map(({ problem }) => problem?.code)).toEqual([undefined, 'cell_too_large', undefined]);
  });

  test('only the beginning of a cell of 150,000 characters is shown', async () => {
    const { rows } = await readReport(`Day,a\n1,${'x'.repeat(150_000)}\n2,y\n`);
    expect(rows[1]).toEqual({ rowIndex: 1, line: 3, cells: ['2', 'y'] });
    const shown = `${'x'.repeat(199)}…`;
    expect(rows[0]).toMatchObject({
      cells: ['1', shown],
      problem: {
        field: 'a',
        code: 'cell_too_large',
        value: shown,
        message: expect.stringMatching(/line 2 .*100000/),
      },
    });
  });
});

/** Reads a file that is never in memory. Returns the code that it is refused with and how much of it was taken. */
async function readEndless(start: { first: string; piece: string }, totalBytes: number) {
  const streams: ReturnType<typeof endless>[] = [];
  const open = (fromByte: number) => {
    // The file is only opened within the first part, so the rest looks the same.
    const first = start.first.slice(fromByte);
    const stream = endless({ first, piece: start.piece, totalBytes });
    streams.push(stream);
    return stream;
  };
  let rows = 0;
  let code = 'none';
  try {
    const reader = await openReport(open, { findHeader: dayHeader });
    for await (const batch of reader.batches(1_000)) rows += batch.rows.length;
  } catch (error) {
    if (!isSluiceError(error)) throw error;
    code = error.code;
  }
  return {
    rows,
    code,
    lastTakenBytes: streams.at(-1)?.takenBytes ?? 0,
    areClosed: streams.every((one) => one.isClosed),
  };
}

describe('hostile files', () => {
  test.each([
    ['a cell of 100 MB in quotes', 'report_quote_unclosed', { first: 'Day,b\n1,"', piece: 'x\n' }],
    ['a cell of doubled quotes', 'report_quote_unclosed', { first: 'Day,b\n1,"', piece: '""' }],
    ['a header of very many columns', 'report_row_too_large', { first: 'Day', piece: ',col' }],
    ['a JSON string that is never closed', 'report_row_too_large', { first: '[{"a":"', piece: 'x' }],
    ['a JSON record that is never closed', 'report_row_too_large', { first: '{"a":[1', piece: ',1' }],
    ['endless JSON brackets', 'report_json_too_deep', { first: '[{"a":', piece: '[' }],
    ['endless JSON backslashes', 'report_row_too_large', { first: '[{"a":"', piece: '\\' }],
  ])('are refused as soon as a limit is exceeded: %s', async (_, code, start) => {
    const read = await readEndless(start, 100 * MiB);
    expect(read).toMatchObject({ code, areClosed: true });
    expect(read.lastTakenBytes).toBeLessThan(3 * MiB);
  });

  test.each([
    ['rows', { first: 'Day,b\n', piece: '2026-03-27,Größe "x"\n' }, 'none', 1_000_000],
    ['one cell', { first: 'Day,b\n1,', piece: 'x' }, 'none', 1],
    ['one row of empty cells', { first: 'Day,b\n1', piece: ',' }, 'none', 1],
    ['one line of a JSON record', { first: '{"a":1}\n{"a":[1', piece: ',1' }, 'none', 2],
    ['blank lines', { first: 'Day,b\n', piece: '\n' }, 'report_too_many_lines', 0],
    [
      'records',
      { first: '[{"a":"1"}', piece: `,{"a":"ö","b":"${'x'.repeat(80)}"}` },
      'report_json_truncated',
      300_000,
    ],
  ])(
    'are read with little memory: 40 MB of %s',
    async (_, start, code, fewestRows) => {
      const reading = async () => {
        const read = await readEndless(start, 40 * MiB);
        expect(read).toMatchObject({ code, areClosed: true });
        expect(read.rows).toBeGreaterThanOrEqual(fewestRows);
      };
      const mostBytes = 150 * MiB;
      expect(await growthDuring(reading, { mostBytes })).toBeLessThan(mostBytes);
    },
    60_000,
  );
});

test('the error of a source that fails is passed on, and the source is closed', async () => {
  const broken = new Error('disk gone');
  const open = () =>
    (async function* () {
      yield Buffer.from('Day,a\n1,2\n');
      throw broken;
    })();
  await expect(openReport(open, { findHeader: dayHeader })).rejects.toBe(broken);
});

test('a reader that is left early closes its source and reads no more than it needs', async () => {
  const streams: ReturnType<typeof endless>[] = [];
  const open = (fromByte: number) => {
    const stream = endless({ first: 'Day,a\n'.slice(fromByte), piece: '1,2\n', totalBytes: 2 * MiB });
    streams.push(stream);
    return stream;
  };
  const reader = await openReport(open, { findHeader: dayHeader });
  for await (const batch of reader.batches(10)) {
    expect(batch.rows).toHaveLength(10);
    break;
  }
  expect(streams.every(({ isClosed }) => isClosed)).toBe(true);
  expect(streams.at(-1)?.takenBytes).toBeLessThan(200_000);
});
