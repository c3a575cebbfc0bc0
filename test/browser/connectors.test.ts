import { test } from 'vitest';
import { airbyteTroubles } from '../support/fakes/fake-airbyte-troubles.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { useBrowser } from './browser.ts';
import { useConsoleServer } from './console-server.ts';

const database = useDatabase();
const server = useConsoleServer(database);
const browser = useBrowser();

async function enrol(
  page: import('playwright-core').Page,
  name: string,
  connectionId: string,
): Promise<void> {
  await page.goto(`${server.url}/connectors`);
  await page.getByRole('button', { name: 'Enrol a connection' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Airbyte connection id').fill(connectionId);
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByLabel('External account').fill(`account of ${name}`);
  await dialog.getByRole('button', { name: 'Enrol connection' }).click();
  await page.getByRole('heading', { name }).waitFor();
}

test('a connection is enrolled, synced by hand and followed to its end without a reload', async () => {
  const tenantId = await newTenant(database);
  const { connectionId } = server.airbyte.state.addConnection({ name: 'Orders' });
  const { page } = await browser.open();
  await page.goto(await server.loginLink({ tenantId, role: 'admin' }));
  await enrol(page, 'Orders', connectionId);
  await page.getByRole('button', { name: 'Sync now' }).click();
  const syncs = page.getByRole('table', { name: 'Syncs' });
  await syncs.getByText('done', { exact: true }).first().waitFor();
  await syncs.getByRole('link').first().click();
  await page.waitForURL(/\/jobs\//);
  await page.getByRole('heading', { name: /Sync/ }).first().waitFor();
});

test('a connection of another tenant is refused in the form, and nothing is enrolled', async () => {
  const { connectionId } = server.airbyte.state.addConnection({ name: 'Orders' });
  const first = await browser.open();
  await first.page.goto(await server.loginLink({ tenantId: await newTenant(database), role: 'admin' }));
  await enrol(first.page, 'Orders', connectionId);

  const { page, watch } = await browser.open();
  watch.expect(/409/);
  await page.goto(await server.loginLink({ tenantId: await newTenant(database), role: 'admin' }));
  await page.goto(`${server.url}/connectors`);
  await page.getByRole('button', { name: 'Enrol a connection' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Airbyte connection id').fill(connectionId);
  await dialog.getByLabel('Name').fill('Orders');
  await dialog.getByLabel('External account').fill('account');
  await dialog.getByRole('button', { name: 'Enrol connection' }).click();
  await dialog.getByRole('alert').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).last().click();
  await page.getByText('No connector yet').waitFor();
});

test('an operator gives connections of the workspace to a tenant, page by page', async () => {
  const tenantId = await newTenant(database);
  for (let number = 1; number <= 120; number += 1)
    server.airbyte.state.addConnection({ name: `Shop ${number}` });
  const { page } = await browser.open();
  await page.goto(await server.loginLink({ tenantId, role: 'operator' }));
  await page.goto(`${server.url}/connectors`);
  await page.getByRole('button', { name: 'Import from Airbyte' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Tenant').fill(tenantId);
  await dialog.getByRole('checkbox', { name: /^Shop 7 / }).check();
  await dialog.getByText('there are more').scrollIntoViewIfNeeded();
  await dialog.getByRole('checkbox', { name: /^Shop 120 / }).check();
  await dialog.getByRole('button', { name: 'Import 2 connections' }).click();
  await dialog.waitFor({ state: 'detached' });
  for (const name of ['Shop 7', 'Shop 120']) await page.getByRole('link', { name, exact: true }).waitFor();
});

test('a refused sync becomes a dead letter, and support requeues it', async () => {
  const tenantId = await newTenant(database);
  const { connectionId } = server.airbyte.state.addConnection({ name: 'Ledger' });
  const endTrouble = server.airbyte.trouble({ kind: 'trigger', connectionId }, airbyteTroubles.forbidden());
  const admin = await browser.open();
  await admin.page.goto(await server.loginLink({ tenantId, role: 'admin' }));
  await enrol(admin.page, 'Ledger', connectionId);
  await admin.page.getByRole('button', { name: 'Sync now' }).click();
  await admin.page.getByRole('table', { name: 'Syncs' }).getByText('dead letter').waitFor();

  endTrouble();
  const support = await browser.open();
  await support.page.goto(await server.loginLink({ tenantId, role: 'support' }));
  await support.page.goto(`${server.url}/dead-letters`);
  await support.page
    .getByRole('button', { name: /^Requeue/ })
    .first()
    .click();
  await support.page
    .getByRole('dialog')
    .getByRole('button', { name: /^Requeue/ })
    .click();
  // New rows are announced and do not move what is being read.
  await admin.page.getByRole('button', { name: /new/ }).click();
  await admin.page.getByRole('table', { name: 'Syncs' }).getByText('done', { exact: true }).waitFor();
});
