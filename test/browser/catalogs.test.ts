import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { findBarriers } from './axe.ts';
import { useBrowser } from './browser.ts';
import { useConsoleServer } from './console-server.ts';

const database = useDatabase();
const server = useConsoleServer(database);
const browser = useBrowser();

const products = [
  'Article,Brand,Name,Shelf',
  'AB-100,Samsung,Galaxy S21 128 GB black,A1',
  'AB-101,Samsung,Galaxy S21 256 GB black,A2',
  'DUP-1,Acme,Garden Hose 20 m green,C1',
  'DUP-2,Acme,Garden Hose 20 m green!,C2',
  ',,,C3',
].join('\n');

const fileOf = (text: string, name = 'products.csv') => ({
  name,
  mimeType: 'text/csv',
  buffer: Buffer.from(text),
});

async function openCatalogs(page: Page, role: 'admin' | 'member' = 'admin'): Promise<string> {
  const tenantId = await newTenant(database);
  await page.goto(await server.loginLink({ tenantId, role, userId: role }));
  await page.goto(`${server.url}/catalogs`);
  await page.getByText('No catalogue yet').waitFor();
  return tenantId;
}

async function tryRow(page: Page, row: Record<string, string>): Promise<string> {
  const panel = page.getByRole('region', { name: 'Try a row' });
  for (const label of ['SKU', 'Brand', 'Title'])
    await panel.getByLabel(label, { exact: true }).fill(row[label] ?? '');
  const answered = page.waitForResponse(/\/match$/);
  await panel.getByRole('button', { name: 'Match row' }).click();
  await answered;
  const answer = panel.locator('[aria-live]');
  await answer.getByText('in version').waitFor();
  return answer.innerText();
}

test('a catalogue is uploaded, tried, used by a job, replaced and deleted', async () => {
  const { page, watch } = await browser.open();
  watch.expect(/status of 422/);
  await openCatalogs(page);
  await page.getByRole('button', { name: 'Upload a catalogue' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: false }).first().fill('Main Shop');
  await dialog.getByText('Only lower-case letters').waitFor();
  await dialog.getByLabel('Name', { exact: false }).first().fill('main');
  await dialog.getByLabel('File of products').setInputFiles(fileOf('colour\nred\n', 'wrong.csv'));
  await dialog.getByRole('button', { name: 'Upload products' }).click();
  await dialog.getByText('no column for the SKU').waitFor();
  await dialog.getByLabel('File of products').setInputFiles(fileOf(products));
  await dialog.getByLabel('SKU column').fill('Article');
  await dialog.getByRole('button', { name: 'Upload products' }).click();
  await page.getByText('main now has 4 products, version 1.').waitFor();
  await page.getByRole('region', { name: 'main' }).getByText('column Article').waitFor();

  expect(await tryRow(page, { SKU: 'ab100' })).toMatch(/Found by SKU, 1 similar in version 1[\s\S]*A1/);
  expect(await tryRow(page, { Brand: 'samsung', Title: 'Galaxi S21 256GB black' })).toMatch(
    /Found by a similar title[\s\S]*A2/,
  );
  const rivals = await tryRow(page, { Brand: 'Acme', Title: 'Garden Hose 20 m' });
  expect(rivals).toMatch(/equally similar[\s\S]*DUP-1[\s\S]*DUP-2/);
  expect(await findBarriers(page)).toEqual([]);

  await page.goto(`${server.url}/items/new?processor=catalog`);
  await page.getByLabel('File of rows').setInputFiles(fileOf('sku\nAB 101\nnone\n', 'rows.csv'));
  await page
    .getByLabel(/^Catalogue/)
    .first()
    .click();
  await page.getByRole('option', { name: 'main' }).click();
  expect(await findBarriers(page)).toEqual([]);
  await page.getByRole('button', { name: 'Send the rows' }).click();
  await page.waitForURL(/\/items\/[0-9a-f-]{36}/);
  await page.getByText('Galaxy S21 256 GB black').first().waitFor();

  await page.goto(`${server.url}/catalogs`);
  await page.getByRole('button', { name: 'Replace' }).click();
  await dialog.getByLabel('File of products').setInputFiles(fileOf('sku,title\nN-1,New\n'));
  await dialog.getByRole('button', { name: 'Replace all products' }).click();
  await page.getByText('main now has 1 product, version 2.').waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete 1 product' }).click();
  await page.getByText('No catalogue yet').waitFor();
});

test('a member may try rows and is offered nothing that changes the catalogue', async () => {
  const { page } = await browser.open();
  const tenantId = await openCatalogs(page, 'member');
  const body = new FormData();
  body.set('file', new Blob([products.replace('Article', 'sku')]), 'products.csv');
  const headers = { authorization: `Bearer ${await server.token({ tenantId, role: 'admin' })}` };
  await fetch(`${server.url}/api/catalogs/main`, { method: 'PUT', headers, body });
  await page.reload();
  expect(await tryRow(page, { SKU: 'AB-101' })).toContain('A2');
  for (const name of ['Upload a catalogue', 'Replace', 'Delete']) {
    expect(await page.getByRole('button', { name }).count(), name).toBe(0);
  }
});
