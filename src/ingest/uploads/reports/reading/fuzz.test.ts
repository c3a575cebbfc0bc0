import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type ReadOptions,
  readReport,
  reportDocument,
} from '../../../../../test/generators/report-documents.ts';
import { isSluiceError } from '../../../../lib/errors.ts';
import { reportErrors } from '../errors.ts';
import type { ResumePoint } from '../types.ts';

const jsonSeeds = [
  '[{"a":1,"b":{"c":"x"}},{"a":2.50,"actions":[{"action_type":"p","value":"1"}]}]',
  '{"a":1}\n{"a":"é\\u00e9","b":[1,2]}\n{"b":null}\n',
  '{"data":[{"a":1},{"a":2}],"paging":{"next":"x"}}',
  '[{"results":[{"m":{"c":"1"}}],"fieldMask":"a"},{"results":[{"m":{"c":"2"}}]}]',
  '{"code":0,"message":"OK","data":{"list":[{"dimensions":{"ad_id":"1"},"metrics":{"spend":"2"}}]}}',
].flatMap((text) => [Buffer.from(text), Buffer.from(`\ufeff${text}`, 'utf16le')]);

const seeds = fc.oneof(
  reportDocument.map(({ bytes }) => bytes),
  fc.constantFrom(...jsonSeeds),
);

const spans = [
  '"',
  '""',
  ',',
  '\n',
  '\r',
  '\r\n',
  '\0',
  '{',
  '}',
  '[',
  ']',
  '\\',
  ':',
  '\ufeff',
  'é',
  '日',
].map((text) => Buffer.from(text));
const odd = [
  [0xff],
  [0x83],
  [0xe3, 0x81],
  [0x81, 0x2c],
  [0xd8, 0x00],
  [0x00, 0xd8],
  [0x93, 0x94],
  [0xf0, 0x9f],
  [0xed, 0xa0, 0x80],
  [0xe0, 0x80, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0xf0, 0x80, 0x80, 0x80],
  [0xc0, 0x80],
];
const mutation = fc.record({
  kind: fc.constantFrom('replace', 'insert', 'delete', 'repeat', 'cut' as const),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.integer({ min: 1, max: 20 }),
  span: fc.constantFrom(...spans, ...odd.map((bytes) => Buffer.from(bytes))),
});

type Mutation = typeof mutation extends fc.Arbitrary<infer Value> ? Value : never;

function mutate(bytes: Buffer, { kind, at, length, span }: Mutation): Buffer {
  const from = Math.floor(at * bytes.length);
  const [before, after] = [bytes.subarray(0, from), bytes.subarray(from)];
  if (kind === 'cut') return before;
  if (kind === 'insert') return Buffer.concat([before, span, after]);
  if (kind === 'replace') return Buffer.concat([before, span, after.subarray(span.length)]);
  if (kind === 'delete') return Buffer.concat([before, after.subarray(length)]);
  return Buffer.concat([before, after.subarray(0, length), after]);
}

/** The result of reading a file: its rows, and the code that it ended with, which must be a known one. */
async function outcomeOf(bytes: Buffer, options: ReadOptions) {
  try {
    return { ...(await readReport(bytes, options)), code: 'read' };
  } catch (error) {
    if (!isSluiceError(error)) throw error;
    expect(['no_header', ...Object.keys(reportErrors.definitions)]).toContain(error.code);
    return { code: error.code, message: error.message, rows: [], resumes: [] as ResumePoint[] };
  }
}

test('mutated files are read or refused with a known code, and reading can resume at any checkpoint', async () => {
  const codes = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(
      seeds,
      fc.array(mutation, { minLength: 1, maxLength: 4 }),
      fc.array(fc.nat({ max: 400 }), { maxLength: 5 }),
      fc.integer({ min: 1, max: 40 }),
      async (seed, mutations, cuts, pieceBytes) => {
        const bytes = mutations.reduce(mutate, seed);
        const whole = await outcomeOf(bytes, { batchRows: 2 });
        codes.set(whole.code, (codes.get(whole.code) ?? 0) + 1);
        expect(await outcomeOf(bytes, { batchRows: 2, cuts })).toEqual(whole);
        for (const resume of whole.resumes) {
          const rest = await outcomeOf(bytes, { resume, cuts, limits: { pieceBytes } });
          expect(rest.rows.map(({ cells }) => trimEnd(cells))).toEqual(
            whole.rows.slice(resume.nextRowIndex).map(({ cells }) => trimEnd(cells)),
          );
        }
      },
    ),
    { numRuns: 2_000, seed: 20_260_327 },
  );
  // A fuzzer whose files are all refused or all fine has tested nothing.
  expect(codes.get('read')).toBeGreaterThan(400);
  expect(codes.size).toBeGreaterThan(5);
}, 120_000);

/** JSON rows are as wide as the fields known at the end of their batch, so the width depends on the batch. */
function trimEnd(cells: readonly string[]): string[] {
  return cells.slice(0, cells.findLastIndex((cell) => cell !== '') + 1);
}
