import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { fuzzDocuments } from '../generators/document-fuzz.ts';
import { type FuzzReport, fuzzedFormats, fuzzReaders } from '../generators/reader-fuzz.ts';
import { fuzzReports } from '../generators/report-fuzz.ts';
import { fuzzWorkbooks } from '../generators/workbook-fuzz.ts';
import { watchMemory } from '../support/probes/held-memory.ts';

// Mutated files, the short quota; `npm run chaos` has the full one. SLUICE_FUZZ_INPUTS=<number> asks for another one,
// SLUICE_FUZZ_SEED=<seed that a run has printed> repeats a run.
const quota = process.env.SLUICE_CHAOS === 'full' ? 1_000_000 : 10_000;
const wanted = Number(process.env.SLUICE_FUZZ_INPUTS ?? quota);
const seed = Number(process.env.SLUICE_FUZZ_SEED ?? 1);
const mostBytes = 256 * 1024 * 1024;

interface FuzzedReader {
  /** The one way in, from the root of the repository. */
  file: string;
  /** What it reads in a thread of its own, which it does not import. */
  thread?: string;
  inputs: number;
  fuzz(inputs: number, seed: number): Promise<FuzzReport>;
  /** How many kinds of refusal a run must have met; short runs meet fewer. */
  refusals: number;
}

const readers: FuzzedReader[] = [
  {
    file: 'src/lib/rows/open-rows.ts',
    inputs: wanted / 2,
    fuzz: (inputs, from) => fuzzReaders(Math.ceil(inputs / fuzzedFormats.length), from),
    refusals: 12,
  },
  {
    // An archive and up to five parts each: 50,000 of the full million.
    file: 'src/lib/rows/xlsx/open-workbook-rows.ts',
    inputs: Math.max(500, wanted / 20),
    fuzz: fuzzWorkbooks,
    refusals: 9,
  },
  {
    file: 'src/ingest/uploads/reports/reading/open-report.ts',
    inputs: wanted / 2,
    fuzz: fuzzReports,
    refusals: 6,
  },
  {
    // Much more expensive than rows: 20,000 of the full million, 5,000 of them PDF.
    file: 'src/ingest/knowledge/formats/read-document.ts',
    thread: 'src/ingest/knowledge/formats/document-thread.ts',
    inputs: Math.max(400, wanted / 50),
    fuzz: fuzzDocuments,
    refusals: 4,
  },
];

/** What lies in a folder of readers and reads nothing that comes from outside. */
const notReaders: Record<string, string> = {
  'src/lib/rows/exact-json.ts': 'reads single values, not files; its own test generates them',
};

const root = path.resolve(import.meta.dirname, '../..');
const done: Record<string, number> = {};

test.each(readers)(
  '$file reads mutated files or refuses them with a catalogue code, however they are split',
  async ({ file, inputs, fuzz, refusals }) => {
    const memory = watchMemory(mostBytes);
    const report = await fuzz(inputs, seed).finally(memory.stop);
    console.log(`${file}: ${report.inputs} inputs from seed ${seed}`, report.accepted, report.refused);
    done[file] = report.inputs;
    expect(memory.peakBytes()).toBeLessThan(mostBytes);
    // A fuzzer whose inputs are all refused early, or all valid, has tested nothing.
    expect(report.accepted).toBeGreaterThan(report.inputs / 20);
    expect(Object.keys(report.refused).length).toBeGreaterThanOrEqual(refusals);
  },
  60_000 + wanted * 20,
);

test(`at least ${wanted.toLocaleString('en')} inputs were read`, () => {
  const total = Object.values(done).reduce((sum, inputs) => sum + inputs, 0);
  console.log(`fuzzed ${total} inputs, at least ${wanted} are due`);
  expect(total).toBeGreaterThanOrEqual(wanted);
});

test('every file in a folder of readers belongs to a fuzzed reader or is known to read nothing', () => {
  const reached = new Set(
    readers.flatMap(({ file, thread }) => [...importsFrom(file), ...(thread ? importsFrom(thread) : [])]),
  );
  const files = readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .map((name) => `src/${name.split(path.sep).join('/')}`)
    .filter(
      (name) =>
        /\/(formats|reading|readers|parsers|lib\/rows)\/(?:[^/]+\/)*[^/]+\.ts$/.test(name) &&
        !name.endsWith('.test.ts'),
    );
  expect(files.length).toBeGreaterThan(25);
  const unknown = files.filter((name) => !reached.has(name) && !(name in notReaders));
  expect(unknown, 'add a fuzzer of the new reader to readers').toEqual([]);
  expect(
    Object.keys(notReaders).filter((name) => reached.has(name) || !existsSync(path.join(root, name))),
  ).toEqual([]);
});

/** The file and all that it imports from src, also by way of others. */
function importsFrom(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  const text = readFileSync(path.join(root, file), 'utf8');
  for (const [, target = ''] of text.matchAll(/(?:from |import\()'(\.{1,2}\/[^']+\.ts)'/g)) {
    importsFrom(path.posix.join(path.posix.dirname(file), target), seen);
  }
  return seen;
}
