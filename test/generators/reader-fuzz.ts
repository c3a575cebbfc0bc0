import { isSluiceError, messageOf } from '../../src/lib/errors.ts';
import { jsonErrors } from '../../src/lib/json-depth.ts';
import { readerErrors } from '../../src/lib/rows/errors.ts';
import { openRows } from '../../src/lib/rows/open-rows.ts';
import type { ReaderLimits, RowReader } from '../../src/lib/rows/types.ts';
import { type SeededRandom, seededRandom } from '../chaos/seeded-random.ts';
import { type CountedStream, cutAt } from './byte-stream.ts';
import { naughtyNames, naughtyStrings } from './naughty-strings.ts';
import { encode } from './row-documents.ts';

export const fuzzedFormats = ['csv', 'tsv', 'json', 'ndjson', 'utf-16'] as const;
type FuzzedFormat = (typeof fuzzedFormats)[number];

/** What a run of the fuzzer did; it throws when a reader breaks a rule. */
export interface FuzzReport {
  inputs: number;
  accepted: number;
  /** Refused inputs by code. */
  refused: Record<string, number>;
}

/**
 * Mutates `count` documents of each format and reads them. Input number i of a run is made from `seed + i` alone, so
 * `fuzzReaders(1, seed + i)` repeats it; failures are printed that way.
 */
export async function fuzzReaders(count: number, seed: number): Promise<FuzzReport> {
  const report: FuzzReport = { inputs: 0, accepted: 0, refused: {} };
  const failures: string[] = [];
  for (let at = 0; at < count && failures.length < 10; at += 1) {
    for (const format of fuzzedFormats) {
      const problem = await fuzzOne({ format, seed: seed + at, report });
      if (problem !== null)
        failures.push(`${format}: ${problem}\n  replay with fuzzReaders(1, ${seed + at})`);
    }
  }
  if (failures.length > 0) throw new Error(`Readers failed on fuzzed input:\n${failures.join('\n')}`);
  return report;
}

interface FuzzCase {
  format: FuzzedFormat;
  seed: number;
  report: FuzzReport;
}

async function fuzzOne({ format, seed, report }: FuzzCase): Promise<string | null> {
  const random = seededRandom(seed * fuzzedFormats.length + fuzzedFormats.indexOf(format));
  const bytes = mutate(makeDocument(format, random), random);
  const offsets = Array.from({ length: random.below(8) }, () => random.below(bytes.length + 1));
  const pieceBytes = 1 + random.below(64);
  // Which of two broken limits is met first depends on the size of the pieces, but never on how they arrive.
  const isTight = random.below(2) === 0;
  const limits = isTight ? { ...tightLimits, pieceBytes } : {};
  const whole = await outcomeOf(cutAt(bytes, []), { bytes, limits });
  const cut = await outcomeOf(cutAt(bytes, offsets), { bytes, limits: { ...limits, pieceBytes } });
  // Repairing readers never crash or bloat either; where a file is cut may decide which of its problems is met first.
  const repaired = await outcomeOf(cutAt(bytes, offsets), { bytes, limits, repair: true });
  return repaired.problem ?? noteOutcome(report, { whole, cut });
}

/** Counts the outcome of an input; returns what is wrong with it. */
export function noteOutcome(
  report: FuzzReport,
  { whole, cut }: { whole: ReadOutcome; cut: ReadOutcome },
): string | null {
  report.inputs += 1;
  if (whole.code === null) report.accepted += 1;
  else report.refused[whole.code] = (report.refused[whole.code] ?? 0) + 1;
  if (whole.problem !== null) return whole.problem;
  if (whole.text !== cut.text) return `read differently when it is cut:\n  ${whole.text}\n  ${cut.text}`;
  return null;
}

export const tightLimits: Partial<ReaderLimits> = {
  columns: 4,
  cellBytes: 60,
  rowBytes: 120,
  columnNameLength: 12,
  rows: 4,
  jsonDepth: 3,
};

interface ReadOutcome {
  /** Everything that can be observed, to compare two readings. */
  text: string;
  code: string | null;
  problem: string | null;
}

interface Reading {
  /** The file, or what it unfolds to: what may be made of it is measured by its length. */
  bytes: Buffer;
  limits: Partial<ReaderLimits>;
  repair?: boolean;
}

export async function outcomeOf(stream: CountedStream, reading: Reading): Promise<ReadOutcome> {
  const started = performance.now();
  try {
    const rows = await readAll(stream, reading);
    const spentMs = performance.now() - started;
    const text = rows.join('\n');
    const problem = rows.map(problemOf).find(Boolean) ?? bloatOf(text, { rows: rows.length, ...reading });
    return { text, code: null, problem: problem ?? tooSlow(spentMs) };
  } catch (error) {
    const isKnown =
      isSluiceError(error) && error.code in { ...readerErrors.definitions, ...jsonErrors.definitions };
    const code = isKnown ? error.code : 'unknown';
    const problem = isKnown ? tooSlow(performance.now() - started) : `threw ${messageOf(error)}`;
    return { text: `${code}: ${messageOf(error)}`, code, problem };
  }
}

async function readAll(stream: CountedStream, { bytes, limits, repair }: Reading): Promise<string[]> {
  const reader = await openRows(stream, { limits, repair });
  return readRowsOf(reader, bytes).finally(() => reader.close());
}

async function readRowsOf(reader: RowReader, bytes: Buffer): Promise<string[]> {
  const rows: string[] = [];
  // Each read must bring a row, and a row has a byte at least: the work is bounded by what came in.
  for (let reads = 0; reads <= bytes.length + 1; reads += 1) {
    const batch = await reader.read(2, 1_000);
    if (batch === null) return rows;
    if (batch.length === 0) throw new Error('read() answered no rows, which is not an end');
    for (const { rowNo, inputJson } of batch) {
      rows.push(inputJson);
      if (rowNo !== rows.length) throw new Error(`row ${rows.length} is numbered ${rowNo}`);
    }
  }
  throw new Error('read() did not come to an end');
}

/** A row repeats the header, and a byte may become an escape of six characters: output must not exceed that. */
function bloatOf(text: string, { rows, bytes }: { rows: number; bytes: Buffer }): string | null {
  const mostCharacters = (rows + 1) * (6 * bytes.length + 20);
  return text.length > mostCharacters ? `made ${text.length} characters of ${bytes.length} bytes` : null;
}

/** Only against hanging; the work per input is counted above. */
const tooSlow = (spentMs: number) => (spentMs > 5_000 ? `took ${Math.round(spentMs)} ms` : null);

/** What PostgreSQL would refuse, although the reader took it. */
function problemOf(json: string): string | null {
  const value: unknown = JSON.parse(json);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return `accepted ${json}`;
  const plain = JSON.stringify(value);
  return /\\u0000|\\ud[89a-f]/.test(plain.replaceAll('\\\\', ''))
    ? `accepted what cannot be stored: ${json}`
    : null;
}

function makeDocument(format: FuzzedFormat, random: SeededRandom): Buffer {
  const names = random.shuffle(naughtyNames).slice(0, 1 + random.below(4));
  const rows = Array.from({ length: 1 + random.below(5) }, () =>
    names.map(() => naughtyStrings[random.below(naughtyStrings.length)] ?? ''),
  );
  if (format === 'json' || format === 'ndjson') {
    const values = ['1234567890123456789', '1e308', '{"a":[1,{"b":null}]}', '"\\ud83d\\ude00"', 'true'];
    const write = (row: string[]) => {
      const value = (text: string) => (random.below(4) === 0 ? random.pick(values) : JSON.stringify(text));
      return `{${names.map((name, at) => `${JSON.stringify(name)}:${value(row[at] ?? '')}`).join(',')}}`;
    };
    const texts = rows.map(write);
    return Buffer.from(format === 'json' ? `[${texts.join(',\n')}]` : texts.join('\n'));
  }
  const delimiter = format === 'tsv' ? '\t' : (random.pick([',', ';', '|']) ?? ',');
  const lineBreak = random.pick(['\n', '\r\n', '\r']) ?? '\n';
  const write = (cells: string[]) => cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(delimiter);
  const text = [names, ...rows].map(write).join(lineBreak);
  if (format === 'utf-16') return encode(text, random.below(2) === 0 ? 'utf-16le' : 'utf-16be');
  // Without quotes where they are not needed, so that mutations meet both kinds of cells.
  return Buffer.from(random.below(2) === 0 ? text : text.replace(/"([\w ]*)"/g, '$1'));
}

const insertions = [
  '"',
  '""',
  ',',
  '\t',
  '\r',
  '\n',
  '\0',
  '\\',
  '\\u0000',
  '\\ud800',
  '{',
  '}',
  '[',
  ']',
  ':',
  '1e999',
];

/** The document after one to four accidents: a bit, a gap, an end, a repetition, or something put in. */
export function mutate(document: Buffer, random: SeededRandom): Buffer {
  let bytes = document;
  for (let left = 1 + random.below(4); left > 0; left -= 1) {
    const at = random.below(bytes.length + 1);
    const end = Math.min(bytes.length, at + 1 + random.below(12));
    const kind = random.below(5);
    if (kind === 0)
      bytes = Buffer.from(bytes.map((byte, place) => (place === at ? byte ^ (1 << random.below(8)) : byte)));
    else if (kind === 1) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]);
    else if (kind === 2) bytes = bytes.subarray(0, at);
    else if (kind === 3) bytes = Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)]);
    else {
      const inserted =
        random.below(4) === 0 ? Buffer.from([random.below(256)]) : Buffer.from(random.pick(insertions) ?? '');
      bytes = Buffer.concat([bytes.subarray(0, at), inserted, bytes.subarray(at)]);
    }
  }
  return bytes;
}
