import { productOf } from './items-provider.ts';
import type { ItemsQuota } from './items-quota.ts';
import type { SeededRandom } from './seeded-random.ts';

/** What a row must become, before and after the provider has mended its ways and the job was reprocessed. */
export interface ExpectedRow {
  first: RowEnd;
  last: RowEnd;
  /** What the provider returns when the row ends; null for rows that call none. */
  sku: string | null;
}

export interface RowEnd {
  status: 'DONE' | 'ERROR' | 'NOT_FOUND';
  /** JSON text; null when the row has none. */
  result: string | null;
  code: string | null;
}

/** A file as the generator made it: the ledger outside the database. */
export interface PlannedJob {
  name: string;
  processor: 'noop' | 'validate' | 'http' | 'llm' | 'chain';
  options: object;
  csv: string;
  rows: ExpectedRow[];
}

/** The files of one run, in the order in which they arrive. */
export function planJobs(
  quota: Pick<ItemsQuota, 'noop' | 'validate' | 'http'>,
  random: SeededRandom,
  providerUrl: string,
): PlannedJob[] {
  const make = { noop: noopJob, validate: validateJob, http: httpJob };
  const plan = (['noop', 'validate', 'http'] as const).flatMap((processor) =>
    Array.from({ length: quota[processor].jobs }, (_, number) => ({ processor, number })),
  );
  return random.shuffle(plan).map(({ processor, number }) => {
    const name = `${processor}-${number}`;
    return make[processor]({ name, rows: quota[processor].rows, random, providerUrl });
  });
}

/** More rows, if a run finishes its files before it has met its quota. */
export function planExtraJob(number: number, random: SeededRandom, providerUrl: string): PlannedJob {
  return httpJob({ name: `extra-${number}`, rows: 200, random, providerUrl });
}

/** The provider's rule knows what to do with a row from the beginning of its SKU. */
const kinds = ['ok', 'missing', 'refused', 'failing', 'hanging', 'garbled'] as const;

interface Wish {
  name: string;
  rows: number;
  random: SeededRandom;
  providerUrl: string;
}

function noopJob({ name, rows }: Wish): PlannedJob {
  const inputs = Array.from({ length: rows }, (_, n) => ({ n: String(n), text: `${name} row ${n}` }));
  return {
    name,
    processor: 'noop',
    options: {},
    csv: csvOf(inputs),
    rows: inputs.map((input) => endingAs({ status: 'DONE', result: JSON.stringify(input), code: null })),
  };
}

function validateJob({ name, rows, random }: Wish): PlannedJob {
  const inputs = Array.from({ length: rows }, (_, n) => ({
    n: String(n),
    age: random.below(10) === 0 ? 'unknown' : String(random.below(120)),
  }));
  return {
    name,
    processor: 'validate',
    options: { rules: [{ column: 'age', type: 'integer', required: true }] },
    csv: csvOf(inputs),
    rows: inputs.map(({ n, age }) =>
      age === 'unknown'
        ? endingAs({ status: 'ERROR', result: null, code: 'validation_failed' })
        : endingAs({ status: 'DONE', result: JSON.stringify({ n, age: Number(age) }), code: null }),
    ),
  };
}

function httpJob({ name, rows, random, providerUrl }: Wish): PlannedJob {
  const skus = Array.from({ length: rows }, (_, n) => {
    const kind = random.below(8) > 0 ? 'ok' : (random.pick(kinds) ?? 'ok');
    return `${kind}-${name}-${n}`;
  });
  return {
    name,
    processor: 'http',
    options: { request: { url: `${providerUrl}/default/{{sku}}` }, timeoutMs: 700 },
    csv: csvOf(skus.map((sku) => ({ sku }))),
    rows: skus.map((sku) => {
      const last: RowEnd = { status: 'DONE', result: JSON.stringify(productOf(sku)), code: null };
      return { first: firstEndOf(sku) ?? last, last, sku };
    }),
  };
}

/** Null: succeeds after some trouble. */
function firstEndOf(sku: string): RowEnd | null {
  if (sku.startsWith('missing')) return { status: 'NOT_FOUND', result: null, code: 'not_found' };
  if (sku.startsWith('refused')) return { status: 'ERROR', result: null, code: 'provider_refused' };
  return null;
}

function endingAs(end: RowEnd): ExpectedRow {
  return { first: end, last: end, sku: null };
}

function csvOf(rows: Record<string, string>[]): string {
  const names = Object.keys(rows[0] ?? {});
  return `${[names, ...rows.map((row) => Object.values(row))].map((cells) => cells.join(',')).join('\n')}\n`;
}
