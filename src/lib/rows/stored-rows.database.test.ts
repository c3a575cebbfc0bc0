import { expect, test } from 'vitest';
import { naughtyNames, naughtyStrings } from '../../../test/generators/naughty-strings.ts';
import { readRows } from '../../../test/generators/read-rows.ts';
import { useDatabase } from '../../../test/support/worlds/database.ts';

const database = useDatabase();

async function storeAndRead(json: string): Promise<{ text: string; key: string; value: string | null }[]> {
  const statement = 'select $1::jsonb::text as text, key, value from jsonb_each_text($1::jsonb)';
  return await database.owner(statement, [json]);
}

test('PostgreSQL keeps every value that is read from delimited text, under every name', async () => {
  const write = (cells: readonly string[]) => cells.map((one) => `"${one.replaceAll('"', '""')}"`).join(',');
  const columns = naughtyStrings.map((_, at) => naughtyNames[at] ?? `column ${at}`);
  const { rows } = await readRows(`${write(columns)}\n${write(naughtyStrings)}\n`);
  const stored = await storeAndRead(rows[0] ?? '');
  const values = new Map(stored.map(({ key, value }) => [key, value]));
  expect(columns.map((name) => values.get(name))).toEqual(naughtyStrings);
});

test('PostgreSQL keeps the digits of numbers up to the limits, and the deepest rows', async () => {
  const digits = '9'.repeat(400);
  const deepest = `${'['.repeat(19)}${']'.repeat(19)}`;
  const { rows } = await readRows(
    `[{"id":1234567890123456789,"price":1.50,"n":${digits},"e":1e400,"d":${deepest}}]`,
  );
  const stored = new Map((await storeAndRead(rows[0] ?? '')).map(({ key, value }) => [key, value]));
  expect(stored.get('id')).toBe('1234567890123456789');
  expect(stored.get('price')).toBe('1.50');
  expect(stored.get('n')).toBe(digits);
  expect(stored.get('e')).toBe(`1${'0'.repeat(400)}`);
  expect(stored.get('d')).toBe(deepest);
});
