import { expect, test } from 'vitest';
import { inlineParameters, quoteIdentifier, quoteLiteral, sql } from './sql.ts';

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

test('inlined parameters are quoted literals', () => {
  const statement = sql`select ${"it's"}, ${5}, ${null}, ${true}, ${['a"b', 'c\\d']}, ${new Date(0)}`;
  expect(inlineParameters(statement)).toBe(
    `select 'it''s', '5', null, 'true',  E'{"a\\\\"b","c\\\\\\\\d"}', '1970-01-01T00:00:00.000Z'`,
  );
});

test('a parameter whose text looks like a placeholder is not replaced again', () => {
  expect(inlineParameters(sql`select ${'$2'}, ${'x'}`)).toBe(`select '$2', 'x'`);
});

test('a NUL character is refused before it reaches the database', () => {
  expect(() => inlineParameters(sql`select ${'a\0b'}`)).toThrow(/NUL/);
});
