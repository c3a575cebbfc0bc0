import { expect, test } from 'vitest';
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
