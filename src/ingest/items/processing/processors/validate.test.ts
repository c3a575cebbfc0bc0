import { describe, expect, test } from 'vitest';
import { itemsOf, processorContext } from '../../../../../test/support/worlds/processor-context.ts';
import type { SluiceError } from '../../../../lib/errors.ts';
import { noopProcessor } from './noop.ts';
import { type ItemOutcome, sameAsInput } from './types.ts';
import { validateProcessor } from './validate.ts';

const context = processorContext();

function validate(rows: Record<string, unknown>[], ...rules: object[]): Promise<ItemOutcome[]> {
  return validateProcessor.process(itemsOf(...rows), { rules }, context);
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
      validateProcessor.validateOptions({ rules: [{ column: 'c', pattern }] });
    } catch (error) {
      return (error as SluiceError).fields.map(({ pointer }) => pointer);
    }
    return null;
  };

  test('with nested repetition is refused', () => {
    const evil = [
      '(a+)+$',
      '(a*)*',
      '(?:a+)*b',
      '((a+)b?)+',
      '([a-z]+)+@',
      '(\\d+)*x',
      '(a{1,})+',
      '(x(a|b+))*',
    ];
    for (const pattern of evil) expect(refusal(pattern), pattern).toEqual(['/options/rules/0/pattern']);
  });

  test('a pattern that is broken, too long, or has back-references is refused', () => {
    for (const pattern of ['(', 'a'.repeat(201), '(a)\\1', '(?<n>a)\\k<n>', '[z-a]']) {
      expect(refusal(pattern), pattern.slice(0, 20)).toEqual(['/options/rules/0/pattern']);
    }
  });

  test('a pattern that is ordinary is allowed', () => {
    for (const pattern of [
      '^[A-Z]{2}\\d+$',
      '^(foo|bar)+$',
      '\\(+\\)+',
      '[+*]+x*',
      '^(a+|b)?$',
      '^(\\d{3}-)+\\d$',
    ]) {
      expect(refusal(pattern), pattern).toBeNull();
    }
  });

  test('a pattern that is slow on some texts is stopped in time, and the other rows get their result', async () => {
    const slow = { column: 'c', pattern: '^(a|a)*$' };
    const rows = [{ c: 'aaa' }, { c: `${'a'.repeat(60)}b` }, { c: 'b' }];
    const before = process.cpuUsage();
    const outcomes = await validate(rows, slow);
    expect(outcomes).toMatchObject([
      { status: 'DONE' },
      { message: expect.stringContaining('took too long') },
      { message: expect.stringContaining('must match') },
    ]);
    const many = Array.from({ length: 500 }, () => ({ c: `${'a'.repeat(60)}b` }));
    expect(await validate(many, slow)).toHaveLength(500);
    // Time at work: a busy machine may keep the process waiting for as long.
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(5_000);
  });

  test('is not tried on very long texts', async () => {
    expect(await check({ pattern: 'a' }, 'a'.repeat(2001))).toMatch(/longer than the 2000 characters/);
  });
});

test('rules that make no sense are refused with their place', () => {
  const rules = [
    { column: 'a', min: 1 },
    { column: 'b', type: 'date', max: 'soon' },
    { column: 'b', type: 'number', min: '1' },
    { column: 'c', type: 'money' },
  ];
  const fields = () => validateProcessor.validateOptions({ rules: rules.slice(0, 3) });
  expect(fields).toThrow(/rules\/0\/min.*rules\/1\/max.*rules\/2\/min/);
  expect(() => validateProcessor.validateOptions({ rules: rules.slice(3) })).toThrow(
    /rules\/3|rules\/0\/type/,
  );
  expect(() => validateProcessor.validateOptions({ rules: [{ column: 'a' }, { column: 'a' }] })).toThrow(
    /rules\/1\/column/,
  );
});
