import { beforeAll, expect, test, vi } from 'vitest';
import { useProduct } from '../../../../test/security/product.ts';
import { useCommandLine } from '../../../../test/support/servers/command-line.ts';
import { useDatabase } from '../../../../test/support/worlds/database.ts';

vi.setConfig({ testTimeout: 90_000 });

const product = useProduct(useDatabase());
const sluice = useCommandLine();
let env: Record<string, string> = {};

beforeAll(async () => {
  const { authorization = '' } = await product.bearer({ tenantId: 'acme', userId: 'ada', role: 'admin' });
  env = { SLUICE_URL: product.url, SLUICE_TOKEN: authorization.replace('Bearer ', '') };
});

async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await sluice.runHere(args, env);
  expect({ args, code, stderr }).toMatchObject({ code: 0 });
  return stdout.trim();
}

test('people are invited, listed, given a role, switched off and removed', async () => {
  const link = await run('users', 'invite', 'bob@example.com', '--name', 'Bob', '--role', 'member');
  expect(link).toMatch(/^http:\/\/.*\/login\?code=[\w-]{43}$/);
  expect(await run('users', 'list')).toMatch(/bob@example\.com +Bob +bob@example\.com +member +invited/);
  await fetch(link, { redirect: 'manual' });
  expect(await run('users', 'role', 'bob@example.com', '--role', 'admin')).toContain('admin  active');
  expect(await run('users', 'disable', 'bob@example.com')).toContain('disabled');
  expect(await run('users', 'enable', 'bob@example.com')).toContain('active');
  await run('users', 'remove', 'bob@example.com');
  expect(await run('users', 'list')).not.toContain('bob@example.com');
});

test('a key is created, works, is listed and revoked', async () => {
  const key = await run('keys', 'create', 'nightly import', '--role', 'service');
  const asKey = () => fetch(`${product.url}/api/me`, { headers: { authorization: `Bearer ${key}` } });
  expect((await asKey()).status).toBe(200);
  const list = await run('keys', 'list');
  expect(list).toMatch(/nightly import +slk_\w{4} +service +ada/);
  await run('keys', 'revoke', /^[0-9a-f-]{36}/m.exec(list)?.[0] ?? '');
  expect((await asKey()).status).toBe(401);
});

test('a workspace is created, renamed, listed and deleted', async () => {
  const id = await run('workspaces', 'create', 'Marketing');
  expect(await run('workspaces', 'rename', id, 'Sales')).toBe(`${id}  Sales`);
  expect(await run('workspaces', 'list')).toContain('Sales');
  await run('workspaces', 'delete', id);
  expect(await run('workspaces', 'list')).not.toContain('Sales');
});

test('a webhook is created with its secret, listed, tested and deleted', async () => {
  const made = await run('webhooks', 'create', 'https://example.com/hook', '--event', 'job.completed');
  const [id = '', secret = ''] = made.split(/\s+/);
  expect(secret).toMatch(/^whsec_/);
  const list = await run('webhooks', 'list');
  expect(list).toMatch(/https:\/\/example\.com\/hook +job\.completed +on/);
  expect(list).not.toContain(secret);
  expect(await run('webhooks', 'test', id)).toMatch(/^[\w-]+$/);
  await run('webhooks', 'delete', id);
  expect(await run('webhooks', 'list')).not.toContain(id);
});
