import { expect, test } from 'vitest';
import { useDatabase } from '../support/worlds/database.ts';
import { useProduct } from './product.ts';
import { Tally } from './tally.ts';

// Patterns that a member may write: each runs in linear time, or is refused with what is wrong with it and where.
const database = useDatabase();
const product = useProduct(database);
const claims = { tenantId: 'the-patient', role: 'member' } as const;

const starts = ['', 'a', '^[ab]+', '\\(\\?=', '(?:x|y)*', '[(?=]', '\\d{3}-'];
const constructs: [construct: string, name: string][] = [
  ['(?=b)', 'the lookahead (?='],
  ['(?!b)', 'the negative lookahead (?!'],
  ['(?<=b)', 'the lookbehind (?<='],
  ['(?<!b)', 'the negative lookbehind (?<!'],
  ['(c)\\1', 'the back-reference \\1'],
  ['(?<n>c)\\k<n>', 'the back-reference \\k<n>'],
  ['a{1001}', 'more than 1000 repetitions with {1001}'],
  ['(?:a{40}){40}', 'more than 1000 repetitions with {40}'],
  ['\\p{scx=Greek}', 'the property \\p{scx=Greek}'],
];

async function create(pattern: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const form = new FormData();
  form.set('processor', 'validate');
  form.set('options', JSON.stringify({ rules: [{ column: 'a', pattern }] }));
  form.set('file', new Blob(['a\nb\n']), 'a.csv');
  return product.ask(claims, { method: 'POST', path: '/api/jobs', body: form });
}

test('a pattern that needs backtracking or too much room is refused with the construct and its place', {
  timeout: 120_000,
}, async () => {
  const tally = new Tally('patterns that are refused', 180);
  for (const start of starts) {
    for (const [construct, name] of constructs) {
      const { status, body } = await create(start + construct);
      const [problem] = body.errors as { pointer: string; message: string }[];
      tally.equal(status, 422);
      tally.equal(problem?.pointer, '/options/rules/0/pattern');
      tally.equal(problem?.message.startsWith(`has ${name} at position `), true);
      const at = Number(/at position (\d+)/.exec(problem?.message ?? '')?.[1]) - 1;
      const named = name.slice(name.lastIndexOf(' ') + 1);
      tally.equal((start + construct).slice(at, at + named.length), named);
    }
  }
  expect(tally.report()).toBeGreaterThanOrEqual(tally.quota);
  expect(await database.owner('select from ingestion_jobs where tenant_id = $1', [claims.tenantId])).toEqual(
    [],
  );
});
