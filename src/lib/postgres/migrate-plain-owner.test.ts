import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  queryOnce,
  startTestServer,
  type TestServer,
  withDatabase,
} from '../../../test/support/fakes/postgres-server.ts';
import { packageDir } from '../package-dir.ts';
import { withOwner } from './client.ts';
import { migrateUp } from './migrate.ts';
import { ensureRoles } from './roles.ts';

// Row-level security is forced on the owner too, unless it is a superuser: a migration that forgets it changes no row.
let server: TestServer;
let ownerUrl: string;
let dir: string;
beforeAll(async () => {
  server = await startTestServer();
  const name = 'plain';
  await queryOnce(server.ownerUrl, `create role plain_owner login createrole password 'plain'`);
  await queryOnce(server.ownerUrl, `create database ${name} owner plain_owner`);
  const url = new URL(server.ownerUrl);
  url.username = 'plain_owner';
  url.password = 'plain';
  url.pathname = `/${name}`;
  ownerUrl = url.href;
  dir = await mkdtemp(path.join(tmpdir(), 'sluice-migrations-'));
  for (const file of await readdir(path.join(packageDir, 'migrations'))) {
    if (file < '0020') await copyFile(path.join(packageDir, 'migrations', file), path.join(dir, file));
  }
});
afterAll(async () => {
  await server.stop();
  await rm(dir, { recursive: true, force: true });
});

/** As the program of that version wrote it: for its tenant, which is what the policies ask for. */
const firstKey = '019a0000-0000-7000-8000-000000000001';
const secondKey = '019a0000-0000-7000-8000-000000000002';
const arrange = `
  begin;
  set local app.tenant_id = 'acme';
  insert into tenants (tenant_id, name) values ('acme', 'Acme');
  insert into users (tenant_id, user_id, role) values ('acme', 'olga', 'operator');
  insert into api_keys (tenant_id, key_id, name, role, key_hash, key_hint, created_by)
  values ('acme', '${firstKey}', 'first', 'admin', '\\x01', 'slk_1', 'olga'),
         ('acme', '${secondKey}', 'second', 'member', '\\x02', 'slk_2', 'api_key:${firstKey}');
  commit`;

test('an owner who is no superuser migrates an installation with data to the newest version', async () => {
  await ensureRoles(ownerUrl);
  expect((await migrateUp(ownerUrl, { dir })).version).toBe(19);
  await withOwner(ownerUrl, (client) => client.query(arrange));
  await migrateUp(ownerUrl);
  const superuserUrl = withDatabase(server.ownerUrl, new URL(ownerUrl).pathname.slice(1));
  const seen = await queryOnce(
    superuserUrl,
    `select k.name, k.user_id as "userId", u.operator_since is not null as "isOperator"
       from api_keys k
       join users u on u.tenant_id = k.tenant_id and u.user_id = k.user_id
      order by k.name`,
  );
  expect(seen).toEqual([
    { name: 'first', userId: 'olga', isOperator: true },
    { name: 'second', userId: 'olga', isOperator: true },
  ]);
  const unforced = await queryOnce(
    superuserUrl,
    `select relname from pg_class
      where relnamespace = 'public'::regnamespace and relrowsecurity and not relforcerowsecurity`,
  );
  expect(unforced).toEqual([]);
});
