import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { findBarriers } from './axe.ts';
import { useBrowser } from './browser.ts';
import { useConsoleServer } from './console-server.ts';

const database = useDatabase();
const server = useConsoleServer(database);
const browser = useBrowser();

async function folderOf(tenantId: string): Promise<string> {
  const folder = path.join(server.folders, tenantId, 'inbox');
  await mkdir(folder, { recursive: true });
  return folder;
}

test('an adapter is created, checked and scanned; a failed file shows its reason and is retried', async () => {
  const tenantId = await newTenant(database);
  const folder = await folderOf(tenantId);
  await writeFile(path.join(folder, 'good.csv'), 'sku\n1\n2\n');
  await writeFile(path.join(folder, 'bad.csv'), 'sku\n"never closed\n');
  const { page } = await browser.open();
  await page.goto(await server.loginLink({ tenantId, role: 'admin' }));
  await page.goto(`${server.url}/adapters`);
  await page.getByRole('button', { name: 'New adapter' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel(/^Name/).fill('orders');
  await dialog.getByLabel('Folder').fill('inbox');
  await dialog.getByLabel('Scan every … minutes').fill('');
  await dialog.getByLabel('Seconds without a change before a file is read').fill('0');
  expect(await findBarriers(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Create adapter' }).click();
  await page.getByRole('heading', { name: 'orders' }).waitFor();
  await page.getByRole('button', { name: 'Check' }).click();
  await page.getByText('The first files: bad.csv, good.csv.').waitFor();
  await page.getByRole('button', { name: 'Scan now' }).click();
  await page.getByText('1 taken in, 1 failed').waitFor();
  const files = page.getByRole('table', { name: 'Files' });
  await files.getByText('taken in', { exact: true }).waitFor();
  await writeFile(path.join(folder, 'bad.csv'), 'sku\n3\n');
  await files.getByRole('button', { name: 'Retry file' }).click();
  // The server scans by itself soon, and the page hears of it without a reload.
  await files.getByText('failed', { exact: true }).waitFor({ state: 'detached' });
  await expectCount(() => files.getByText('taken in', { exact: true }).count(), 2);
  await files.getByRole('link', { name: 'items' }).first().click();
  await page.waitForURL(/\/items\//);
  await page.getByRole('table').first().waitFor();
});

test('a problem with a place is shown in the server’s words', async () => {
  const tenantId = await newTenant(database);
  const { page, watch } = await browser.open();
  // The page asks every few seconds, perhaps once more while it is being left.
  watch.expect(/404/);
  await page.goto(await server.loginLink({ tenantId, role: 'admin' }));
  await page.goto(`${server.url}/adapters`);
  await page.getByRole('button', { name: 'New adapter' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel(/^Name/).fill('later');
  await dialog.getByLabel('Folder').fill('not-there-yet');
  await dialog.getByRole('button', { name: 'Create adapter' }).click();
  await page.getByRole('heading', { name: 'later' }).waitFor();
  await page.getByText('failing').first().waitFor();
  await page.getByText('does not exist').first().waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete adapter' }).click();
  await page.waitForURL(/\/adapters$/);
});

test('a member sees adapters and their files, and is offered no action that is not allowed', async () => {
  const tenantId = await newTenant(database);
  const { page } = await browser.open();
  await page.goto(await server.loginLink({ tenantId, role: 'member', userId: 'bob' }));
  await page.goto(`${server.url}/adapters`);
  await page.getByText('No adapter yet').waitFor();
  expect(await page.getByRole('button', { name: 'New adapter' }).first().isDisabled()).toBe(true);
});

async function expectCount(read: () => Promise<number>, wanted: number): Promise<void> {
  await expect.poll(read, { timeout: 60_000 }).toBe(wanted);
}
