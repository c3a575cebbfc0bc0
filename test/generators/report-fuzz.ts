import fc from 'fast-check';
import { reportErrors } from '../../src/ingest/uploads/reports/errors.ts';
import { openReport } from '../../src/ingest/uploads/reports/reading/open-report.ts';
import type { ReadingLimits } from '../../src/ingest/uploads/reports/reading/types.ts';
import type { RawRow, ResumePoint } from '../../src/ingest/uploads/reports/types.ts';
import { isSluiceError, messageOf } from '../../src/lib/errors.ts';
import { type SeededRandom, seededRandom } from '../chaos/seeded-random.ts';
import { type CountedStream, cutAt } from './byte-stream.ts';
import { type FuzzReport, mutate } from './reader-fuzz.ts';
import { dayHeader, reportDocument } from './report-documents.ts';

/**
 * Mutates `count` ad reports and reads them: whole, cut anywhere, and from wherever a reading could be resumed. Input
 * number i is made from `seed + i` alone, so `fuzzReports(1, seed + i)` repeats it; failures are printed that way.
 */
export async function fuzzReports(count: number, seed: number): Promise<FuzzReport> {
  const report: FuzzReport = { inputs: 0, accepted: 0, refused: {} };
  const failures: string[] = [];
  for (let at = 0; at < count && failures.length < 10; at += 1) {
    const problem = await fuzzOne(seed + at, report);
    if (problem !== null) failures.push(`${problem}\n  replay with fuzzReports(1, ${seed + at})`);
  }
  if (failures.length > 0) throw new Error(`Reports failed on fuzzed input:\n${failures.join('\n')}`);
  return report;
}

/** What is mutated: the same in every run, so that a seed alone repeats an input. */
const documents: readonly Buffer[] = [
  ...fc.sample(reportDocument, { numRuns: 300, seed: 20_260_327 }).map(({ bytes }) => bytes),
  ...[
    '[{"a":1,"b":{"c":"x"}},{"a":2.50,"actions":[{"action_type":"p","value":"1"}]}]',
    '{"a":1}\n{"a":"é\\u00e9","b":[1,2]}\n{"b":null}\n',
    '{"data":[{"a":1},{"a":2}],"paging":{"next":"x"}}',
    '[{"results":[{"m":{"c":"1"}}],"fieldMask":"a"},{"results":[{"m":{"c":"2"}}]}]',
    '{"code":0,"message":"OK","data":{"list":[{"dimensions":{"ad_id":"1"},"metrics":{"spend":"2"}}]}}',
  ].flatMap((text) =>
    // As often as all others together.
    Array.from({ length: 40 }, (_, at) =>
      at % 4 === 0 ? Buffer.from(`\ufeff${text}`, 'utf16le') : Buffer.from(text),
    ),
  ),
];

async function fuzzOne(seed: number, report: FuzzReport): Promise<string | null> {
  const random = seededRandom(seed);
  const bytes = mutate(random.pick(documents) ?? Buffer.alloc(0), random);
  const limits = random.below(4) === 0 ? tightLimits : {};
  const whole = await outcomeOf(bytes, { limits });
  const cut = await outcomeOf(bytes, { limits, cuts: someOffsets(bytes, random) });
  report.inputs += 1;
  if (whole.code === null) report.accepted += 1;
  else report.refused[whole.code] = (report.refused[whole.code] ?? 0) + 1;
  if (whole.problem !== null) return whole.problem;
  if (whole.text !== cut.text) return `read differently when it is cut:\n  ${whole.text}\n  ${cut.text}`;
  const resume = random.pick(whole.resumes);
  return resume === undefined || limits === tightLimits
    ? null
    : resumedProblem({ bytes, resume, whole, random });
}

const tightLimits: Partial<ReadingLimits> = {
  columns: 3,
  cellLength: 20,
  rowLength: 40,
  lines: 4,
  jsonDepth: 2,
};

async function resumedProblem(reading: {
  bytes: Buffer;
  resume: ResumePoint;
  whole: Outcome;
  random: SeededRandom;
}): Promise<string | null> {
  const { bytes, resume, whole, random } = reading;
  const cuts = someOffsets(bytes, random);
  const rest = await outcomeOf(bytes, { cuts, resume, limits: { pieceBytes: 1 + random.below(40) } });
  const [due, got] = [whole.rows.slice(resume.nextRowIndex), rest.rows].map((rows) =>
    JSON.stringify(rows.map(({ cells }) => trimEnd(cells))),
  );
  return due === got ? null : `read differently from row ${resume.nextRowIndex} on:\n  ${due}\n  ${got}`;
}

const someOffsets = (bytes: Buffer, random: SeededRandom) =>
  Array.from({ length: random.below(6) }, () => random.below(bytes.length + 1));

/** Rows of JSON are as wide as the fields that were known when their batch ended, which depends on the batch. */
function trimEnd(cells: readonly string[]): string[] {
  return cells.slice(0, cells.findLastIndex((cell) => cell !== '') + 1);
}

interface Outcome {
  rows: RawRow[];
  resumes: ResumePoint[];
  /** Everything that can be observed, to compare two readings. */
  text: string;
  code: string | null;
  problem: string | null;
}

interface Reading {
  cuts?: readonly number[];
  resume?: ResumePoint;
  limits?: Partial<ReadingLimits>;
}

async function outcomeOf(bytes: Buffer, reading: Reading): Promise<Outcome> {
  const started = performance.now();
  const streams: CountedStream[] = [];
  const rows: RawRow[] = [];
  const resumes: ResumePoint[] = [];
  try {
    const layout = await readAll(bytes, { ...reading, streams, rows, resumes });
    const text = JSON.stringify({ layout, rows, resumes });
    return { rows, resumes, text, code: null, problem: overwork({ bytes, streams, text, rows, started }) };
  } catch (error) {
    const isKnown =
      isSluiceError(error) && [...Object.keys(reportErrors.definitions), 'no_header'].includes(error.code);
    const code = isKnown ? error.code : 'unknown';
    const text = `${code}: ${messageOf(error)}`;
    const problem = isKnown
      ? overwork({ bytes, streams, text: '', rows, started })
      : `threw ${messageOf(error)} ${error instanceof Error ? error.stack : ''}`;
    return { rows: [], resumes: [], text, code, problem };
  }
}

async function readAll(
  bytes: Buffer,
  reading: Reading & { streams: CountedStream[]; rows: RawRow[]; resumes: ResumePoint[] },
): Promise<object> {
  const { cuts = [], limits, resume, streams, rows, resumes } = reading;
  const open = (from: number) => {
    const offsets = cuts.map((cut) => cut - from);
    const stream = cutAt(bytes.subarray(from), offsets);
    streams.push(stream);
    return stream;
  };
  const reader = await openReport(open, { limits, resume, findHeader: dayHeader });
  for await (const batch of reader.batches(2)) {
    // A row has a byte at least: the work is bounded by what came in.
    if (rows.length > bytes.length) throw new Error(`made ${rows.length} rows of ${bytes.length} bytes`);
    rows.push(...batch.rows);
    if (batch.resume !== null) resumes.push(batch.resume);
  }
  return reader.layout;
}

const mostPasses = 8;

/** What an input may cost: a few passes over it, and no more text than it brought. Time only against hanging. */
function overwork(work: {
  bytes: Buffer;
  streams: readonly CountedStream[];
  text: string;
  rows: readonly RawRow[];
  started: number;
}): string | null {
  const { bytes, streams, rows } = work;
  if (streams.length > mostPasses) return `opened the file ${streams.length} times`;
  if (streams.some(({ isClosed, takenPieces }) => takenPieces > 0 && !isClosed)) return 'left the file open';
  const characters = rows.reduce(
    (sum, { cells }) => sum + cells.reduce((all, cell) => all + cell.length, 0),
    0,
  );
  if (characters > (rows.length + 1) * (bytes.length + 20))
    return `made ${characters} characters of ${bytes.length} bytes`;
  const spentMs = performance.now() - work.started;
  return spentMs > 5_000 ? `took ${Math.round(spentMs)} ms` : null;
}
