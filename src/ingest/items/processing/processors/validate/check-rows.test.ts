import { expect, test } from 'vitest';
import { LinearPatterns } from '../../../../../lib/patterns/linear-patterns.ts';
import { RowCheck } from './check-rows.ts';
import { readRules } from './rules.ts';

const columns = Array.from({ length: 10 }, (_, at) => `c${at}`);
const { rules } = readRules({
  rules: columns.map((column) => ({ column, pattern: '[ab]*a[ab]{900}$' })),
});
const rowOf = (text: string) => JSON.stringify(Object.fromEntries(columns.map((column) => [column, text])));

test('a row whose patterns need too many steps together ends with that reason', () => {
  const check = new RowCheck(rules, new LinearPatterns());
  expect(check.check(rowOf('a'.repeat(2_000)))).toEqual({
    problem: expect.stringMatching(/^c5 cannot be checked: the patterns of this row need more than 10000000/),
  });
});

test('each row has a budget of its own', () => {
  const check = new RowCheck(rules, new LinearPatterns());
  for (let at = 0; at < 3; at += 1) {
    expect(check.check(rowOf(`a${'b'.repeat(900)}`))).toHaveProperty('resultJson');
  }
});

test('lengths count characters, not halves of them', () => {
  const short = readRules({ rules: [{ column: 'a', minLength: 2, maxLength: 2 }] });
  const check = new RowCheck(short.rules, null);
  expect(check.check('{"a":"👍ä"}')).toHaveProperty('resultJson');
  expect(check.check('{"a":"👍"}')).toEqual({ problem: 'a must have at least 2 characters' });
  expect(check.check('{"a":"👍👍👍"}')).toEqual({ problem: 'a must have at most 2 characters' });
});
