import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import { type HardFile, hardCsv, hardNdjson, objectText, prettyJson } from '../generators/hard-rows.ts';
import { hardStrings } from '../generators/hard-strings.ts';
import { type ReadCell, readWorkbook } from '../support/probes/xlsx-reader.ts';
import { useServerProcess } from '../support/servers/server-process.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';

// Rows come out unchanged through the built product: its worker, its grid and its exports.
const database = useDatabase();
const server = useServerProcess(database);
const patience = { timeout: 180_000 };

interface Upload {
  text: string;
  name: string;
  rows: number;
}

interface Stored {
  tenantId: string;
  jobId: string;
}

async function takeIn({ text, name, rows }: Upload): Promise<Stored> {
  const tenantId = await newTenant(database);
  const form = new FormData();
  form.set('processor', 'noop');
  form.set('file', new Blob([text]), name);
  const headers = await server.bearer({ tenantId });
  const answer = await fetch(`${server.url}/api/jobs`, { method: 'POST', headers, body: form });
  const body = (await answer.json()) as { jobId: string };
  expect({ status: answer.status, body }).toEqual({ status: 201, body: { jobId: expect.any(String) } });
  const stored = { tenantId, jobId: body.jobId };
  const isDone = async () => JSON.parse(await read(stored, '')).queueState === 'DONE';
  await eventually(isDone, 'all rows are processed', 90_000);
  expect(JSON.parse(await read(stored, ''))).toMatchObject({ totalItems: rows, counts: { DONE: rows } });
  return stored;
}

async function read({ tenantId, jobId }: Stored, rest: string): Promise<string> {
  const headers = await server.bearer({ tenantId });
  const answer = await fetch(`${server.url}/api/jobs/${jobId}${rest}`, { headers });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`GET ${rest}: ${answer.status} ${text}`);
  return text;
}

async function exported({ tenantId, jobId }: Stored, format: 'csv' | 'xlsx'): Promise<Buffer> {
  const headers = await server.bearer({ tenantId });
  const url = `${server.url}/api/jobs/${jobId}/export?format=${format}`;
  const answer = await fetch(url, { method: 'POST', headers });
  expect(answer.status).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
}

interface GridPage {
  data: { rowNo: number; status: string; result: unknown }[];
  nextCursor: string | null;
  total: number;
}

/** Compares texts, not objects: an object has already lost digits, `__proto__` and the order of keys. */
function checkPage(text: string, { file, from }: { file: HardFile; from: number }): GridPage {
  const page = JSON.parse(text) as GridPage;
  let at = 0;
  for (const [index, { rowNo, status }] of page.data.entries()) {
    const expected = `"result" : ${objectText(file.rows[from + index] ?? [])}, "errorCode"`;
    at = text.indexOf(expected, at);
    if (at === -1) throw new Error(`Row ${rowNo} is not ${expected}`);
    checkRow([String(rowNo), status], [String(from + index + 1), 'DONE']);
  }
  return page;
}

/** A hundred thousand assertions take a minute, so only differing rows are asserted. */
function checkRow(found: string[], expected: string[]): void {
  const isSame = found.length === expected.length && found.every((cell, at) => cell === expected[at]);
  if (!isSame) expect(found).toEqual(expected);
}

async function checkPages(stored: Stored, file: HardFile): Promise<void> {
  const pageSize = 500;
  for (let page = 1; (page - 1) * pageSize < file.rows.length; page += 1) {
    const from = (page - 1) * pageSize;
    const text = await read(stored, `/items?page=${page}&pageSize=${pageSize}`);
    const { data, total } = checkPage(text, { file, from });
    expect({ page, rows: data.length, total }).toEqual({
      page,
      rows: Math.min(pageSize, file.rows.length - from),
      total: file.rows.length,
    });
  }
}

async function checkKeyset(stored: Stored, file: HardFile): Promise<void> {
  let from = 0;
  let after = '';
  for (;;) {
    const text = await read(stored, `/items?statuses=DONE&pageSize=499${after}`);
    const { data, nextCursor } = checkPage(text, { file, from });
    from += data.length;
    if (nextCursor === null) break;
    after = `&after=${encodeURIComponent(nextCursor)}`;
  }
  expect(from).toBe(file.rows.length);
}

/** Repeated here and not imported from the writer: this is what the documentation promises. */
const runsInSpreadsheets = /^'*[=+\-@\t\r\n＝＋－＠]/;
const guarded = (text: string) => (runsInSpreadsheets.test(text) ? `'${text}` : text);

/** Our two columns step aside for columns of the file that have their names. */
const headerOf = ({ columns }: HardFile) => ['item_row_no', 'item_status', ...columns];

/** What a cell of the export has to be, made from the JSON text that went in. */
function cellOf(valueText: string | undefined): {
  kind: 'text' | 'number' | 'boolean' | 'null';
  text: string;
} {
  if (valueText === undefined || valueText === 'null') return { kind: 'null', text: '' };
  if (valueText === 'true' || valueText === 'false') return { kind: 'boolean', text: valueText };
  if (valueText.startsWith('"')) return { kind: 'text', text: JSON.parse(valueText) as string };
  if (/^[[{]/.test(valueText)) return { kind: 'text', text: withoutSpace(valueText) };
  return { kind: 'number', text: valueText };
}

/** White space between the tokens goes, white space in strings stays. */
function withoutSpace(json: string): string {
  return json.replace(/"(?:[^"\\]|\\.)*"|\s+/g, (part) => (part.startsWith('"') ? part : ''));
}

/** Sign, digits and power of ten: the same for two spellings of one number, however long it is. */
function decimal(text: string): string {
  const [, sign = '', whole = '', fraction = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const kept = digits.replace(/0+$/, '');
  if (kept === '') return whole === '' ? `no number: ${text}` : `${sign}0`;
  return `${sign}${kept}e${Number(power) - fraction.length + digits.length - kept.length}`;
}

function checkCsv(content: Buffer, file: HardFile): void {
  const [header, ...records] = parse(content, { record_delimiter: '\r\n' }) as string[][];
  expect(header).toEqual(headerOf(file).map(guarded));
  expect(records).toHaveLength(file.rows.length);
  for (const [at, row] of file.rows.entries()) {
    const values = new Map(row);
    const cells = file.columns.map((name) => cellOf(values.get(name)));
    const expected = cells.map(({ kind, text }) => (kind === 'text' ? guarded(text) : text));
    const found = [...(records[at] ?? [])];
    for (const [column, { kind, text }] of cells.entries()) {
      // A number may come out in another spelling (1E5, 100000), but never with other digits.
      if (kind === 'number' && decimal(found[column + 2] ?? '') === decimal(text)) found[column + 2] = text;
    }
    checkRow(found, [String(at + 1), 'DONE', ...expected]);
  }
}

function checkXlsx(content: Buffer, file: HardFile): void {
  const [sheet = [], ...others] = readWorkbook(content);
  expect(others).toEqual([]);
  expect(sheet[0]?.map((cell) => cell?.value)).toEqual(headerOf(file));
  expect(sheet).toHaveLength(file.rows.length + 1);
  for (const [at, row] of file.rows.entries()) {
    const values = new Map(row);
    const found = sheet[at + 1] ?? [];
    const expected = file.columns.map((name) => readableOf(values.get(name)));
    const cells = file.columns.map((_, column) => readable(found[column + 2] ?? null));
    checkRow([readable(found[0] ?? null), ...cells], [`number ${decimal(String(at + 1))}`, ...expected]);
  }
}

/** A number that a spreadsheet would round is text there; so is its expected form, whichever it is. */
function readable(cell: ReadCell): string {
  if (cell === null) return 'null';
  if (cell.type === 'boolean') return `boolean ${cell.value === '1'}`;
  return cell.type === 'number' ? `number ${decimal(cell.value)}` : `text ${cell.value}`;
}

function readableOf(valueText: string | undefined): string {
  const { kind, text } = cellOf(valueText);
  if (kind === 'null') return 'null';
  if (kind !== 'number') return `${kind} ${text}`;
  return isKeptBySpreadsheets(text) ? `number ${decimal(text)}` : `text ${text}`;
}

/** A double holds 15 digits of a whole number and its own shortest text of a fraction. */
function isKeptBySpreadsheets(text: string): boolean {
  const value = Number(text);
  const shortest = Object.is(value, -0) ? '-0' : String(value);
  if (!Number.isFinite(value) || decimal(shortest.replace('+', '')) !== decimal(text)) return false;
  return Math.abs(value) < 1e15 || /^-?\d[\d.]{0,15}e/.test(shortest) || /^-?\d{1,15}0*$/.test(shortest);
}

test('there are at least 120 different hard strings', () => {
  expect(hardStrings.length).toBeGreaterThanOrEqual(120);
  expect(new Set(hardStrings).size).toBe(hardStrings.length);
});

test('6,000 hard rows of CSV come out of grid, keyset, CSV and XLSX unchanged', patience, async () => {
  const file = hardCsv({ seed: 20_260_101, rows: 6_000 });
  const stored = await takeIn({ text: file.text, name: 'hard.csv', rows: 6_000 });
  await checkPages(stored, file);
  await checkKeyset(stored, file);
  checkCsv(await exported(stored, 'csv'), file);
  checkXlsx(await exported(stored, 'xlsx'), file);
});

test('6,000 rows of NDJSON keep nested values, every digit and missing columns', patience, async () => {
  const file = hardNdjson({ seed: 20_260_102, rows: 6_000 });
  const stored = await takeIn({ text: file.text, name: 'hard.ndjson', rows: 6_000 });
  await checkPages(stored, file);
  await checkKeyset(stored, file);
  checkCsv(await exported(stored, 'csv'), file);
  checkXlsx(await exported(stored, 'xlsx'), file);
});

test('rows of a JSON array may span several lines', patience, async () => {
  const file = hardNdjson({ seed: 20_260_103, rows: 500 });
  const stored = await takeIn({ text: prettyJson(file), name: 'pretty.json', rows: 500 });
  checkCsv(await exported(stored, 'csv'), file);
  checkXlsx(await exported(stored, 'xlsx'), file);
});

test('an export with a value too long for a cell fails and never looks like a whole file', async () => {
  const cell = 'y'.repeat(32_768);
  const early = await takeIn({ text: `a\n${cell}\n`, name: 'early.csv', rows: 1 });
  const headers = await server.bearer({ tenantId: early.tenantId });
  const answer = await fetch(`${server.url}/api/jobs/${early.jobId}/export?format=xlsx`, {
    method: 'POST',
    headers,
  });
  expect(answer.status).toBe(422);
  expect(await answer.json()).toMatchObject({
    code: 'export_cell_too_long',
    row: 1,
    column: 'a',
    max: 32_767,
  });
  const filler = Array.from({ length: 20_000 }, (_, n) => `${n} ${Math.imul(n, 2_654_435_761)}`).join('\n');
  const late = await takeIn({ text: `a\n${filler}\n${cell}\n`, name: 'late.csv', rows: 20_001 });
  await expect(exported(late, 'xlsx')).rejects.toThrow();
  expect((await exported(late, 'csv')).length).toBeGreaterThan(filler.length);
});
