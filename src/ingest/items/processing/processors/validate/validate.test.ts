import { afterAll, describe, expect, test } from 'vitest';
import { itemsOf, processorContext } from '../../../../../../test/support/worlds/processor-context.ts';
import type { SluiceError } from '../../../../../lib/errors.ts';
import { noopProcessor } from '../noop.ts';
import { type ItemOutcome, ResultJson, sameAsInput } from '../types.ts';
import { RowChecks } from './row-checks.ts';
import { validateProcessor } from './validate.ts';

const context = processorContext();
const checks = new RowChecks();
const processor = validateProcessor(checks);
afterAll(() => checks.close());

/** With the results as values. */
async function validate(rows: Record<string, unknown>[], ...rules: object[]): Promise<ItemOutcome[]> {
  const outcomes = await processor.process(itemsOf(...rows), { rules }, context);
  return outcomes.map((outcome) =>
    outcome.status === 'DONE' && outcome.result instanceof ResultJson
      ? { ...outcome, result: JSON.parse(outcome.result.json) }
      : outcome,
  );
}

async function check(rule: object, value: unknown): Promise<unknown> {
  const [outcome] = await validate([{ c: value }], { column: 'c', ...rule });
  if (outcome?.status === 'DONE') return (outcome.result as Record<string, unknown>).c;
  return outcome?.status === 'ERROR' ? outcome.message : outcome;
}

test('noop returns the input as the result', async () => {
  const row = JSON.parse('{"a": "1", "__proto__": "x"}');
  expect(await noopProcessor.process(itemsOf(row), {}, context)).toEqual([
    { status: 'DONE', result: sameAsInput },
  ]);
  expect(() => noopProcessor.validateOptions({ surprise: 1 })).toThrow(/options/);
});

describe('a value', () => {
  const good: [string, unknown, unknown][] = [
    ['string', '  text ', 'text'],
    ['string', 5, '5'],
    ['integer', '42', 42],
    ['integer', '-7', -7],
    ['integer', '3.0', 3],
    ['integer', 8, 8],
    ['number', '12.50', 12.5],
    ['number', '.5', 0.5],
    ['number', '1e3', 1000],
    ['boolean', 'Yes', true],
    ['boolean', '0', false],
    ['boolean', true, true],
    ['date', '2024-02-29', '2024-02-29'],
    ['date', '2024-02-29T12:00:00+02:00', '2024-02-29T10:00:00.000Z'],
    ['date', '2024-02-29 12:00', '2024-02-29T12:00:00.000Z'],
    ['email', 'Jo.Doe+x@Example.COM', 'Jo.Doe+x@example.com'],
    ['url', 'HTTPS://Example.com/a b', 'https://example.com/a%20b'],
    ['uuid', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'],
  ];
  for (const [type, value, expected] of good) {
    test(`${JSON.stringify(value)} is a ${type} and becomes ${JSON.stringify(expected)}`, async () => {
      expect(await check({ type }, value)).toBe(expected);
    });
  }

  const bad: [string, unknown[]][] = [
    ['integer', ['1.5', 'x', '9007199254740993', '1e3', true, [1]]],
    ['number', ['1,5', 'NaN', 'Infinity', '0x10', '1e999', '', {}].filter((value) => value !== '')],
    ['boolean', ['maybe', '2']],
    ['date', ['2023-02-29', '2024-13-01', '29.02.2024', '2024-02-29T25:00:00Z', 20240229]],
    ['email', ['a', 'a@b', 'a b@c.de', '.a@c.de', 'a@-c.de', `${'a'.repeat(65)}@c.de`, 'a@c.de\nx']],
    ['url', ['example.com', 'javascript:alert(1)', 'ftp://a.b/', 'http://']],
    ['uuid', ['a0eebc99', 'g0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11']],
  ];
  for (const [type, values] of bad) {
    test(`is refused when it is not of type ${type}`, async () => {
      for (const value of values)
        expect(await check({ type }, value), JSON.stringify(value)).toMatch(/^c must be/);
    });
  }

  test('must be within its range, length, list and pattern', async () => {
    expect(await check({ type: 'number', min: 1, max: 2 }, '0.9')).toBe('c must be at least 1');
    expect(await check({ type: 'number', min: 1, max: 2 }, '2.1')).toBe('c must be at most 2');
    expect(await check({ type: 'number', min: 1, max: 2 }, '2')).toBe(2);
    expect(await check({ type: 'date', min: '2024-01-01' }, '2023-12-31')).toBe(
      'c must be at least 2024-01-01',
    );
    expect(await check({ minLength: 2 }, 'ä')).toBe('c must have at least 2 characters');
    expect(await check({ maxLength: 2 }, '👍👍')).toBe('👍👍');
    expect(await check({ enum: ['S', 'M'] }, 'L')).toBe('c must be one of S, M');
    expect(await check({ type: 'integer', enum: [1, 2] }, '2')).toBe(2);
    expect(await check({ pattern: '^[A-Z]{2}-\\d+$' }, 'AB-12')).toBe('AB-12');
    expect(await check({ pattern: '^[A-Z]{2}-\\d+$' }, 'AB-x')).toMatch(/must match the pattern/);
  });

  test('may be missing unless it is required', async () => {
    for (const value of [undefined, null, '', '  ']) {
      expect(await check({ type: 'integer' }, value)).toBeNull();
      expect(await check({ type: 'integer', required: true }, value)).toBe('c is required');
    }
  });
});

describe('a row', () => {
  test('gets all problems of its fields at once, and fails permanently', async () => {
    const outcomes = await validate(
      [
        { sku: '', price: 'x' },
        { sku: 'a', price: '1', other: 'kept' },
      ],
      { column: 'sku', required: true },
      { column: 'price', type: 'number' },
    );
    expect(outcomes).toEqual([
      {
        status: 'ERROR',
        code: 'validation_failed',
        message: 'sku is required; price must be a number such as 12.5',
        class: 'permanent',
      },
      { status: 'DONE', result: { sku: 'a', price: 1, other: 'kept' } },
    ]);
  });

  test('may have columns named like members of Object.prototype', async () => {
    const row = JSON.parse('{"__proto__": "5", "constructor": ""}');
    const [outcome] = await validate(
      [row],
      { column: '__proto__', type: 'integer' },
      { column: 'toString', required: false },
    );
    const result = outcome?.status === 'DONE' ? JSON.stringify(outcome.result) : '';
    expect(result).toBe('{"__proto__":5,"constructor":"","toString":null}');
  });
});

describe('a pattern', () => {
  const refusal = (pattern: string) => {
    try {
      processor.validateOptions({ rules: [{ column: 'c', pattern }] });
    } catch (error) {
      return (error as SluiceError).fields;
    }
    return null;
  };

  test('that is broken, too long, or cannot run in linear time is refused with its place', () => {
    for (const pattern of ['(', 'a'.repeat(201), '(a)\\1', '(?<n>a)\\k<n>', '[z-a]', '(a{50}){50}']) {
      expect(refusal(pattern)?.map(({ pointer }) => pointer)).toEqual(['/options/rules/0/pattern']);
    }
    expect(refusal('abc(?=d)')).toEqual([
      {
        pointer: '/options/rules/0/pattern',
        message: 'has the lookahead (?= at position 4, which is not supported',
      },
    ]);
  });

  test('that only the engine itself can refuse is refused when the job is created', async () => {
    const options = { rules: [{ column: 'a' }, { column: 'b', pattern: '^\\p{ID_Start}' }] };
    await expect(processor.assertUsable?.(options, context)).rejects.toMatchObject({
      code: 'processor_options_invalid',
      fields: [{ pointer: '/options/rules/1/pattern', message: expect.stringContaining('\\p{ID_Start}') }],
    });
    await processor.assertUsable?.({ rules: [{ column: 'b', pattern: '^\\p{L}+$' }] }, context);
  });

  test('that is ordinary, or repeats what repeats, is allowed', () => {
    for (const pattern of [
      '^[A-Z]{2}\\d+$',
      '^(foo|bar)+$',
      '\\(+\\)+',
      '[+*]+x*',
      '(a+)+$',
      '((a+)b?)+',
      '(\\d+)*x',
    ]) {
      expect(refusal(pattern), pattern).toBeNull();
    }
  });

  test('that makes other engines try every way gives every row its result', async () => {
    const rows = [{ c: 'aaa' }, { c: `${'a'.repeat(1_900)}b` }, { c: 'b' }];
    expect(await validate(rows, { column: 'c', pattern: '^(a|a)*$' })).toMatchObject([
      { status: 'DONE' },
      { message: expect.stringContaining('must match') },
      { message: expect.stringContaining('must match') },
    ]);
  });

  test('is not tried on very long texts', async () => {
    expect(await check({ pattern: 'a' }, 'a'.repeat(2001))).toMatch(/longer than the 2000 characters/);
  });

  test('that needs too many steps together with the others of the row is a problem of that row', async () => {
    const columns = Array.from({ length: 10 }, (_, at) => `c${at}`);
    const rules = columns.map((column) => ({ column, pattern: '[ab]*a[ab]{900}$' }));
    const rowOf = (text: string) => Object.fromEntries(columns.map((column) => [column, text]));
    const [fine, costly] = await validate([rowOf(`a${'b'.repeat(900)}`), rowOf('a'.repeat(2_000))], ...rules);
    expect(fine).toMatchObject({ status: 'DONE' });
    expect(costly).toMatchObject({
      status: 'ERROR',
      class: 'permanent',
      message: expect.stringMatching(
        /^c5 cannot be checked: the patterns of this row need more than 10000000 steps/,
      ),
    });
  });
});

test('rows for which the time of a turn is not enough are given back', async () => {
  const some = { check: async () => [{ resultJson: '{}' }] } as unknown as RowChecks;
  const stopped = new AbortController();
  const rules = [{ column: 'c', pattern: 'a' }];
  const answer = validateProcessor({
    check: async (...asked: Parameters<RowChecks['check']>) => {
      stopped.abort();
      return some.check(...asked);
    },
  } as unknown as RowChecks).process(itemsOf({}, {}), { rules }, { ...context, signal: stopped.signal });
  expect(await answer).toMatchObject([
    { status: 'DONE' },
    { status: 'ERROR', code: 'slice_stopped', attemptUnused: true, retryAfterMs: 0 },
  ]);
});

test('rules that are many or have patterns are checked outside of transactions and of the main thread', () => {
  const isSlow = (rules: object[]) => processor.isSlow?.({ rules });
  const many = (count: number) => Array.from({ length: count }, (_, at) => ({ column: `c${at}` }));
  expect(isSlow(many(50))).toBe(false);
  expect(isSlow(many(51))).toBe(true);
  expect(isSlow([{ column: 'c', pattern: 'a' }])).toBe(true);
});

test('rules that make no sense are refused with their place', () => {
  const rules = [
    { column: 'a', min: 1 },
    { column: 'b', type: 'date', max: 'soon' },
    { column: 'b', type: 'number', min: '1' },
    { column: 'c', type: 'money' },
  ];
  const fields = () => processor.validateOptions({ rules: rules.slice(0, 3) });
  expect(fields).toThrow(/rules\/0\/min.*rules\/1\/max.*rules\/2\/min/);
  expect(() => processor.validateOptions({ rules: rules.slice(3) })).toThrow(/rules\/3|rules\/0\/type/);
  expect(() => processor.validateOptions({ rules: [{ column: 'a' }, { column: 'a' }] })).toThrow(
    /rules\/1\/column/,
  );
});
