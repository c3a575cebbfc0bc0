import { expect, test } from 'vitest';
import { quoteIdentifier, quoteLiteral, sql } from './sql.ts';

test('values become numbered parameters, never text', () => {
  const statement = sql`select ${1} where name = ${"'; drop table x; --"}`;
  expect(statement.text).toBe('select $1 where name = $2');
  expect(statement.values).toEqual([1, "'; drop table x; --"]);
});

test('an embedded fragment is renumbered behind the parameters before it', () => {
  const inner = sql`a = ${'x'} and b = ${'y'}`;
  const statement = sql`select 1 where z = ${'z'} and ${inner} limit ${5}`;
  expect(statement.text).toBe('select 1 where z = $1 and a = $2 and b = $3 limit $4');
  expect(statement.values).toEqual(['z', 'x', 'y', 5]);
});

test('an object that looks like a fragment is still only a parameter', () => {
  const forged = { text: 'drop table x', values: [] };
  expect(sql`select ${forged}`.text).toBe('select $1');
});

test('quoting doubles what would end the literal', () => {
  expect(quoteLiteral("it's")).toBe("'it''s'");
  expect(quoteLiteral("a\\'b")).toBe(" E'a\\\\''b'");
  expect(quoteIdentifier('a"b')).toBe('"a""b"');
});
