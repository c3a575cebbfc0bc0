import { type SeededRandom, seededRandom } from '../chaos/seeded-random.ts';
import { hardStrings, longStrings } from './hard-strings.ts';

/** A file of rows, and each row as its members in order: the value's JSON text under its name. */
export interface HardFile {
  text: string;
  columns: readonly string[];
  rows: (readonly [name: string, valueText: string])[][];
}

/** Names that prototypes, spreadsheets, our own columns and the order of integer keys get wrong. */
const hardColumns = [
  'id',
  '__proto__',
  'constructor',
  'toString',
  '7',
  '0',
  'row_no',
  'status',
  '=name',
  'größe, "in cm"',
  'line\nfeed',
  '\u{1f600}',
] as const;

/** One value in this many is a long one, so that the whole file stays some megabytes. */
const longEvery = 4_000;

/** A CSV file with a byte order mark; cells are quoted where they must be, and elsewhere at random. */
export function hardCsv({ seed, rows }: { seed: number; rows: number }): HardFile {
  const random = seededRandom(seed);
  const cells = Array.from({ length: rows }, (_, at) =>
    hardColumns.map((_name, column) => (column === 0 ? String(at) : hardText(random))),
  );
  const line = (row: readonly string[]) => row.map((cell) => csvCell(cell, random)).join(',');
  return {
    text: `\ufeff${[hardColumns, ...cells].map(line).join('\r\n')}\r\n`,
    columns: hardColumns,
    rows: cells.map((row) => row.map((cell, at) => [hardColumns[at] ?? '', JSON.stringify(cell)] as const)),
  };
}

/** One object per line; rows leave columns out, and their values are of every JSON type. */
export function hardNdjson({ seed, rows }: { seed: number; rows: number }): HardFile {
  const random = seededRandom(seed);
  const members = Array.from({ length: rows }, (_, at) => hardMembers(random, at));
  return {
    text: members.map((row) => `${objectText(row)}\n`).join(''),
    columns: hardColumns,
    rows: members,
  };
}

/** The same rows as an array over many lines, as people write it. */
export function prettyJson({ rows }: HardFile): string {
  const objects = rows.map(
    (row) => `  {\n${row.map(([name, value]) => `    ${JSON.stringify(name)}: ${value}`).join(',\r\n')}\n  }`,
  );
  return `[\n${objects.join(',\n')}\n]\n`;
}

export function objectText(row: HardFile['rows'][number]): string {
  return `{${row.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
}

function hardMembers(random: SeededRandom, at: number): (readonly [string, string])[] {
  // The first row has every column, so that the order of columns is known.
  const kept = hardColumns.filter((_, column) => column === 0 || at === 0 || random.below(4) > 0);
  return kept.map((name, column) => [name, column === 0 ? String(at) : hardValue(random, 3)] as const);
}

const exactNumbers = [
  '0',
  '-0',
  '7',
  '-7',
  '1.5',
  '1234567890123456789',
  '-9007199254740993',
  '12345678901234567890123456789',
  '0.1234567890123456789',
  '1e400',
  '-1e-400',
  '1e21',
  '1E5',
  '123456789012345',
  '1234567890123456',
  '99999999999.99',
];

function hardValue(random: SeededRandom, depth: number): string {
  const kind = random.below(depth > 0 ? 10 : 7);
  if (kind < 3) return JSON.stringify(hardText(random));
  if (kind < 5) return random.pick(exactNumbers) ?? '0';
  if (kind < 7) return random.pick(['true', 'false', 'null', '""', '{}', '[]']) ?? 'null';
  const values = Array.from({ length: random.below(4) }, () => hardValue(random, depth - 1));
  if (kind < 9) return `[${values.join(', ')}]`;
  return `{${values.map((value, at) => `${JSON.stringify(hardColumns[at * 2] ?? 'x')} : ${value}`).join(',')}}`;
}

function hardText(random: SeededRandom): string {
  if (random.below(longEvery) === 0) return random.pick(longStrings) ?? '';
  const kind = random.below(8);
  if (kind === 0) return String(random.below(1e9)).padStart(12, '0');
  if (kind === 1) return `${1 + random.below(9)}${String(random.below(1e9)).padStart(9, '0').repeat(2)}`;
  if (kind === 2) return `${random.pick(hardStrings) ?? ''}${random.pick(hardStrings) ?? ''}`;
  return random.pick(hardStrings) ?? '';
}

function csvCell(cell: string, random: SeededRandom): string {
  const mustQuote = /[",\r\n]/.test(cell) || cell.startsWith('\ufeff');
  return mustQuote || random.below(3) === 0 ? `"${cell.replaceAll('"', '""')}"` : cell;
}
