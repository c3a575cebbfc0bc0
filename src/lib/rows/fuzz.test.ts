import { expect, test } from 'vitest';
import { fuzzedFormats, fuzzReaders } from '../../../test/generators/reader-fuzz.ts';

// The short quota. A longer run: SLUICE_FUZZ_INPUTS=1000000 npx vitest run src/lib/rows/fuzz.test.ts
const inputs = Number(process.env.SLUICE_FUZZ_INPUTS ?? 10_000);
const seed = Number(process.env.SLUICE_FUZZ_SEED ?? 1);

test(
  'mutated files are read or refused with a Sluice error, in the same way however they arrive',
  async () => {
    const report = await fuzzReaders(inputs, seed);
    console.log(`fuzzed ${report.inputs} inputs from seed ${seed}`, report);
    expect(report.inputs).toBe(inputs * fuzzedFormats.length);
    // A fuzzer whose inputs are all refused at the door, or all fine, has looked at nothing.
    expect(report.accepted).toBeGreaterThan(report.inputs / 20);
    expect(Object.keys(report.refused).length).toBeGreaterThan(Math.min(12, inputs / 100));
  },
  60_000 + inputs * 20,
);
