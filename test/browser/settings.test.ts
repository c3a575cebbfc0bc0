import { expect, test } from 'vitest';
import type { Role } from '../../src/kernel/tenancy/types.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { useBrowser } from './browser.ts';
import { useConsoleServer } from './console-server.ts';

const database = useDatabase();
const server = useConsoleServer(database);
const browser = useBrowser();

test('an API key is shown once, works, and stops when it is revoked', async () => {
  const tenantId = await newTenant(database);
  const { page } = await browser.open();
  await page.goto(await server.loginLink({ tenantId, role: 'admin' }));
  await page.goto(`${server.url}/settings?tab=keys`);
  await page.getByRole('button', { name: 'New API key' }).first().click();
  await page.getByRole('dialog').getByLabel('Name').fill('Nightly');
  await page.getByRole('button', { name: 'Create API key' }).click();
  const shown = page.getByRole('alert').filter({ hasText: 'shown only once' });
  const key = await shown.locator('code').innerText();
  const ask = () => fetch(`${server.url}/api/me`, { headers: { authorization: `Bearer ${key}` } });
  expect((await ask()).status).toBe(200);

  await page.reload();
  await page.getByRole('table', { name: 'API keys' }).getByText('Nightly').waitFor();
  expect(await page.content()).not.toContain(key);
  await page.getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke key' }).click();
  await page.getByRole('table', { name: 'API keys' }).getByText('revoked').waitFor();
  expect((await ask()).status).toBe(401);
});

test('a new workspace can be chosen at once', async () => {
  const { page } = await browser.open();
  await page.goto(await server.loginLink({ tenantId: await newTenant(database), role: 'admin' }));
  await page.goto(`${server.url}/settings`);
  await page.getByRole('button', { name: 'New workspace' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('Northwind');
  await page.getByRole('button', { name: 'Create workspace' }).click();
  await page.getByRole('table', { name: 'Workspaces' }).getByText('Northwind').waitFor();
  await page.getByRole('button', { name: /All workspaces/ }).click();
  await page.getByRole('menuitem', { name: 'Northwind' }).click();
  await page.waitForURL(/workspace=/);
});

test('a member sees what is allowed and why the rest is hidden', async () => {
  const { page } = await browser.open();
  await page.goto(await server.loginLink({ tenantId: await newTenant(database), role: 'member' }));
  await page.goto(`${server.url}/settings?tab=keys`);
  await page.getByText('Only admins of the tenant see this').waitFor();
  await page.goto(`${server.url}/webhooks`);
  await page.getByText('Only admins of the tenant see and change endpoints').waitFor();
});

test('a secret is stored with its hosts, and the form says which of them is wrong', async () => {
  const tenantId = await newTenant(database);
  await database.owner(
    `insert into tenant_secrets (tenant_id, name, encrypted, updated_by) values ($1, 'from_before', 'x', 'u')`,
    [tenantId],
  );
  const { page, watch } = await browser.open();
  watch.expect(/400 \(Bad Request\).*\/api\/secrets\//);
  await page.goto(await server.loginLink({ tenantId, role: 'admin' }));
  await page.goto(`${server.url}/settings?tab=secrets`);
  const table = page.getByRole('table', { name: 'Secrets' });
  await table
    .getByRole('row', { name: /from_before/ })
    .getByText('Needs hosts')
    .waitFor();

  await page.getByRole('button', { name: 'Store a secret' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('provider_key');
  await dialog.locator('input[type=password]').fill('a-value-of-a-secret');
  await dialog.getByLabel('Hosts').fill('api.example.com\nhttps://example.com/v1');
  await dialog.getByRole('button', { name: 'Store secret' }).click();
  await dialog.getByText('must be a host or host:port').first().waitFor();
  await dialog.getByLabel('Hosts').fill('api.example.com\nexample.com:8443');
  await dialog.getByLabel('Members may use it').check();
  await dialog.getByRole('button', { name: 'Store secret' }).click();
  const row = table.getByRole('row', { name: /provider_key/ });
  await row.getByText('api.example.com, example.com:8443').waitFor();
  await row.getByText('Members and admins').waitFor();

  await row.getByRole('button', { name: 'Change use' }).click();
  await dialog.getByLabel('Members may use it').uncheck();
  await dialog.getByLabel('Only for').fill('processor:http');
  await dialog.getByRole('button', { name: 'Save changes' }).click();
  await row.getByText('Admins, for processor:http').waitFor();
});

test('the form of a job lists the secrets that the person may use', async () => {
  const tenantId = await newTenant(database);
  await database.owner(
    `insert into tenant_secrets (tenant_id, name, encrypted, updated_by, hosts, roles)
     values ($1, 'of_admins', 'x', 'u', '{api.example.com}', '{}'),
            ($1, 'of_members', 'x', 'u', '{api.example.com}', '{member}')`,
    [tenantId],
  );
  for (const { role, names } of [
    { role: 'member', names: ['of_members'] },
    { role: 'admin', names: ['of_admins', 'of_members'] },
  ] as const) {
    const { page } = await browser.open();
    await page.goto(await server.loginLink({ tenantId, role, userId: `user-${role}` }));
    await page.goto(`${server.url}/items/new?processor=http`);
    await page.getByRole('combobox', { name: 'Secret for the bearer token' }).click();
    await page.getByRole('option', { name: 'of_members' }).waitFor();
    expect(await page.getByRole('option').allInnerTexts()).toEqual(names);
  }
});

test('an endpoint is created and tested, and its failed delivery is sent again', async () => {
  const tenantId = await newTenant(database);
  const { createServer } = await import('node:http');
  let isWell = false;
  const received: string[] = [];
  const receiver = createServer((request, reply) => {
    request.resume();
    request.on('end', () => {
      if (isWell) received.push(String(request.headers['webhook-id']));
      reply.writeHead(isWell ? 204 : 500).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const { port } = receiver.address() as import('node:net').AddressInfo;
  try {
    const { page } = await browser.open();
    await page.goto(await server.loginLink({ tenantId, role: 'admin' }));
    await page.goto(`${server.url}/webhooks`);
    await page.getByRole('button', { name: 'New endpoint' }).first().click();
    await page.getByRole('dialog').getByLabel('URL').fill(`http://127.0.0.1:${port}/hook`);
    await page.getByRole('dialog').getByRole('button', { name: 'Create endpoint' }).click();
    await page
      .getByText(/whsec_/)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Send test event' }).click();
    const deliveries = page.getByRole('table', { name: 'Deliveries' });
    // A test delivery is tried once: its sender is watching.
    await deliveries.getByText('given up').first().waitFor();
    isWell = true;
    await deliveries.getByText('webhook.test').first().click();
    await page.getByRole('button', { name: 'Send again' }).click();
    await deliveries.getByText('delivered').first().waitFor();
    expect(received).toHaveLength(1);
  } finally {
    receiver.closeAllConnections();
    receiver.close();
  }
});

test('keys of a user who is switched off are suspended with the reason; operators are protected', async () => {
  const tenantId = await newTenant(database);
  const ask = async (claims: { userId: string; role: Role }, path: string, body?: object) => {
    const authorization = `Bearer ${await server.token({ tenantId, ...claims })}`;
    const sent = { method: 'POST', body: JSON.stringify(body) };
    const headers = { authorization, 'content-type': 'application/json' };
    const answer = await fetch(`${server.url}${path}`, body ? { ...sent, headers } : { headers });
    expect(answer.ok).toBe(true);
  };
  await ask({ userId: 'ada', role: 'admin' }, '/api/api-keys', { name: 'Nightly', role: 'service' });
  await ask({ userId: 'olga', role: 'operator' }, '/api/api-keys', { name: 'Fleet', role: 'operator' });
  const { page } = await browser.open();
  await page.goto(await server.loginLink({ tenantId, role: 'admin', userId: 'bob' }));
  await page.goto(`${server.url}/settings?tab=users`);
  const users = page.getByRole('table', { name: 'Users' });
  const rowOf = (name: string) => users.getByRole('row').filter({ hasText: name });
  await rowOf('olga').getByTitle('Only an operator can change an operator.').waitFor();
  expect(await rowOf('olga').getByRole('button').count()).toBe(0);
  await rowOf('ada').getByRole('button', { name: 'Change ada' }).click();
  await page.getByRole('menuitem', { name: 'Switch off' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Switch off' }).click();
  await rowOf('ada').getByText('off', { exact: true }).waitFor();
  await page.goto(`${server.url}/settings?tab=keys`);
  const keys = page.getByRole('table', { name: 'API keys' });
  const nightly = keys.getByRole('row').filter({ hasText: 'Nightly' });
  await nightly.getByText('Its user ada is disabled').waitFor();
  expect(await nightly.getByRole('button', { name: 'Revoke' }).count()).toBe(1);
  const fleet = keys.getByRole('row').filter({ hasText: 'Fleet' });
  expect(await fleet.getByRole('button').count()).toBe(0);
});

test('a person is invited by a link, comes with it, gets another role and is removed', async () => {
  const tenantId = await newTenant(database);
  const { page } = await browser.open();
  await page.goto(await server.loginLink({ tenantId, role: 'admin', userId: 'bob' }));
  await page.goto(`${server.url}/settings?tab=users`);
  await page.getByRole('button', { name: 'Invite a person' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('E-mail').fill('eve@example.com');
  await dialog.getByLabel('Name').fill('Eve');
  await dialog.getByRole('button', { name: 'Create link' }).click();
  const link = await page.getByText('/login?code=').textContent();
  const users = page.getByRole('table', { name: 'Users' });
  const eve = users.getByRole('row').filter({ hasText: 'eve@example.com' });
  await eve.getByText('invited', { exact: true }).waitFor();
  const guest = await browser.open();
  await guest.page.goto(String(link).trim());
  await guest.page.getByRole('navigation').first().waitFor();
  await page.reload();
  await eve.getByText('active', { exact: true }).waitFor();
  await eve.getByRole('button', { name: 'Change Eve' }).click();
  await page.getByRole('menuitem', { name: 'Make admin' }).click();
  await eve.getByText('admin', { exact: true }).waitFor();
  await eve.getByRole('button', { name: 'Change Eve' }).click();
  await page.getByRole('menuitem', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await eve.waitFor({ state: 'detached' });
  guest.watch.expect(/401/);
  await guest.page.reload();
  await guest.page.getByText('Log in').first().waitFor();
});
