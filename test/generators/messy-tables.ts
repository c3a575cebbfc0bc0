import type { RepairCode } from '../../src/lib/rows/notes.ts';
import { type SeededRandom, seededRandom } from '../chaos/seeded-random.ts';

/** A file that is not quite well-formed, and what a reader that repairs has to make of it. */
export interface MessyTable {
  what: string;
  bytes: Buffer;
  /** The values of each row, in the order of its columns. */
  rows: (string | null)[][];
  codes: RepairCode[];
}

const words = ['alpha', 'beta 2', 'x;y', 'né', '', '12.5', "it's", 'tab\there', 'naïve', 'Ω', '0007'];
const plainWords = words.filter((word) => /^[\x20-\x7e]*$/.test(word));

/** Tables with a ledger: the writer of the mess knows what was meant. */
export function* messyTables(count: number, seed: number): Generator<MessyTable> {
  for (let at = 0; at < count; at += 1) {
    const random = seededRandom(seed * 100_000 + at);
    const kind = kinds[at % kinds.length] ?? clean;
    const made = kind(random);
    yield { ...made, what: `${kind.name} (${at})` };
  }
}

type Made = Omit<MessyTable, 'what'>;
type Kind = (random: SeededRandom) => Made;

interface Table {
  header: string[];
  rows: string[][];
}

function tableOf(random: SeededRandom, from: readonly string[] = words): Table {
  const width = 3 + random.below(4);
  const header = Array.from({ length: width }, (_, at) => `col${at}`);
  const rows = Array.from({ length: 4 + random.below(40) }, () =>
    header.map((_, at) => (at === 0 ? 'key' : (from[random.below(from.length)] ?? ''))),
  );
  return { header, rows };
}

const ends = ['\n', '\r\n', '\r'];

function write({ header, rows }: Table, random: SeededRandom, end = ends[random.below(3)] ?? '\n'): string[] {
  return [header, ...rows].map((cells) => `${cells.map(field).join(',')}${end}`);
}

function field(value: string): string {
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

const encoded = (lines: readonly string[]) => Buffer.from(lines.join(''));

const clean: Kind = (random) => {
  const table = tableOf(random);
  return { bytes: encoded(write(table, random)), rows: table.rows, codes: [] };
};

/** Changes one line of the text, and the row that the reader has to find there. */
function changed(
  random: SeededRandom,
  {
    code,
    change,
  }: { code: RepairCode; change: (cells: string[]) => { line: string; row: (string | null)[] } },
): Made {
  const table = tableOf(random);
  const at = random.below(table.rows.length);
  const lines = write(table, random, '\n');
  const { line, row } = change(table.rows[at] ?? []);
  lines[at + 1] = `${line}\n`;
  return { bytes: encoded(lines), rows: table.rows.with(at, row as string[]), codes: [code] };
}

const bareQuote: Kind = (random) =>
  changed(random, {
    code: 'bare_quote',
    change: (cells) => {
      const row = cells.with(1, '5" by 3"');
      return { line: ['key', '5" by 3"', ...cells.slice(2).map(field)].join(','), row };
    },
  });

const innerQuote: Kind = (random) =>
  changed(random, {
    code: 'inner_quote',
    change: (cells) => {
      const row = cells.with(1, 'a "b" c');
      return { line: ['key', '"a "b" c"', ...cells.slice(2).map(field)].join(','), row };
    },
  });

const spacedQuotes: Kind = (random) =>
  changed(random, {
    code: 'space_around_quotes',
    change: (cells) => ({
      line: ['key', '  "a, b" ', ...cells.slice(2).map(field)].join(','),
      row: cells.with(1, 'a, b'),
    }),
  });

const shortRow: Kind = (random) =>
  changed(random, {
    code: 'short_row',
    change: (cells) => ({ line: 'key,x', row: ['key', 'x', ...cells.slice(2).map(() => null)] }),
  });

const longRow: Kind = (random) =>
  changed(random, {
    code: 'long_row',
    change: (cells) => ({ line: [...cells.map(field), '', 'extra'].join(','), row: [...cells, 'extra'] }),
  });

const trailing: Kind = (random) => {
  const table = tableOf(random);
  const lines = write(table, random, '\n').map((line) => line.replace(/\n$/, ',,\n'));
  return { bytes: encoded(lines), rows: table.rows, codes: ['trailing_delimiter'] };
};

const separatorLine: Kind = (random) => {
  const table = tableOf(random, ['a', 'b,c', '1,5']);
  const lines = [table.header, ...table.rows].map((cells) => `${cells.join(';')}\r\n`);
  return { bytes: encoded(['sep=;\r\n', ...lines]), rows: table.rows, codes: ['separator_line'] };
};

const preamble: Kind = (random) => {
  const table = tableOf(random);
  const above = ['Report\n', 'Made by hand\n', '\n'].slice(random.below(2));
  return { bytes: encoded([...above, ...write(table, random, '\n')]), rows: table.rows, codes: ['preamble'] };
};

const twinNames: Kind = (random) => {
  const table = tableOf(random);
  const header = table.header.with(1, '').with(2, 'col0');
  const codes: RepairCode[] = ['duplicate_column', 'unnamed_column'];
  return { bytes: encoded(write({ ...table, header }, random)), rows: table.rows, codes };
};

const windows1252: Kind = (random) => {
  const table = tableOf(random, [...plainWords, 'né', 'naïve', '£ 5']);
  table.rows[0]?.splice(1, 1, 'sûr');
  return {
    bytes: Buffer.from(write(table, random).join(''), 'latin1'),
    rows: table.rows,
    codes: ['encoding'],
  };
};

const utf16: Kind = (random) => {
  const table = tableOf(random, plainWords);
  const bytes = Buffer.from(write(table, random).join(''), 'utf16le');
  return { bytes: random.below(2) === 0 ? bytes : bytes.swap16(), rows: table.rows, codes: ['encoding'] };
};

const marked: Kind = (random) => {
  const table = tableOf(random);
  const text = `\ufeff${write(table, random).join('')}`;
  const encodings = ['utf8', 'utf16le'] as const;
  return { bytes: Buffer.from(text, encodings[random.below(2)]), rows: table.rows, codes: [] };
};

const kinds: readonly Kind[] = [
  clean,
  bareQuote,
  innerQuote,
  spacedQuotes,
  shortRow,
  longRow,
  trailing,
  separatorLine,
  preamble,
  twinNames,
  windows1252,
  utf16,
  marked,
];
