import { readFile } from 'node:fs/promises';
import { describe, expect, inject, test } from 'vitest';
import { withDatabase } from '../../../test/support/fakes/postgres-server.ts';
import { useDatabase } from '../../../test/support/worlds/database.ts';

const script = new URL('../../../scripts/pages/schema.mjs', import.meta.url).href;
const { dumpSchema }: { dumpSchema(ownerUrl: string): Promise<string> } = await import(script);

const database = useDatabase();

describe('the schema as text', () => {
  test('the schema of a migrated database is the checked-in schema.sql', async () => {
    const template = withDatabase(inject('serverUrl'), inject('templateDatabase'));
    const text = await readFile(new URL('../../../schema.sql', import.meta.url), 'utf8');
    expect(await dumpSchema(template), 'run `npm run generate`').toBe(text);
  });

  test('is the same for a copy of the database', async () => {
    const template = withDatabase(inject('serverUrl'), inject('templateDatabase'));
    expect(await dumpSchema(database.ownerUrl)).toBe(await dumpSchema(template));
  });

  test.each([
    ['a column', 'alter table workspaces add column extra integer default 7', 'extra integer default 7'],
    [
      'a check',
      'alter table workspaces add constraint odd check (name <> $$x$$)',
      'add constraint odd CHECK',
    ],
    ['an index', 'create index extra_index on workspaces (created_at)', 'CREATE INDEX extra_index'],
    [
      'a policy',
      'create policy extra_policy on workspaces for select using (true)',
      'create policy extra_policy',
    ],
    [
      'a grant',
      'grant truncate on workspaces to sluice_parse',
      'grant truncate on public.workspaces to sluice_parse;',
    ],
    [
      'a grant on a column',
      'grant update (name) on tenants to sluice_parse',
      'grant update (name) on public.tenants to sluice_parse;',
    ],
    [
      'a function',
      'create function extra_one() returns int language sql return 1',
      'FUNCTION public.extra_one()',
    ],
    [
      'a function that is not everybody’s',
      `create function extra_two() returns int language sql return 1;
       revoke execute on function extra_two() from public;
       grant execute on function extra_two() to sluice_kernel`,
      'from public;\ngrant execute on function public.extra_two() to sluice_kernel;',
    ],
    [
      'a trigger',
      `create function extra_three() returns trigger language plpgsql as $$begin return new; end$$;
       create trigger extra_trigger before update on users for each row execute function extra_three()`,
      'CREATE TRIGGER extra_trigger',
    ],
    ['row security', 'alter table users no force row level security', null],
    ['a view', 'create view extra_view as select 1 as one', 'create view public.extra_view as'],
    ['a sequence', 'create sequence extra_sequence', 'create sequence public.extra_sequence as bigint'],
    [
      'an enumeration',
      "create type extra_type as enum ('b', 'a')",
      "create type public.extra_type as enum ('b', 'a');",
    ],
  ])('shows %s that was changed', async (_what, statement, line) => {
    const before = await dumpSchema(database.ownerUrl);
    await database.owner(statement);
    const after = await dumpSchema(database.ownerUrl);
    if (line === null) expect(after.length).toBeLessThan(before.length);
    else expect([before.includes(line), after.includes(line)]).toEqual([false, true]);
  });
});
