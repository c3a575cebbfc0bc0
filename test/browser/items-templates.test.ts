import { expect, test } from 'vitest';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { findBarriers } from './axe.ts';
import { useBrowser } from './browser.ts';
import { useConsoleServer } from './console-server.ts';

const database = useDatabase();
const server = useConsoleServer(database);
const browser = useBrowser();

const sheet = 'Article;Cost;Internal\nA1;1.50;x\nA2;cheap;y\nA3;3.00;z\n';
const file = { name: 'prices.csv', mimeType: 'text/csv', buffer: Buffer.from(sheet) };
const rules = { rules: [{ column: 'price', type: 'number', required: true }] };

test('what was chosen for a file is saved as a template and taken over for the next one', async () => {
  const claims = { tenantId: await newTenant(database), role: 'admin', userId: 'ada' } as const;
  const { page } = await browser.open();
  await page.goto(await server.loginLink(claims, '/items/new?processor=validate'));
  await page.getByLabel('File of rows').setInputFiles(file);
  await page.getByLabel('Name of Cost in the job').fill('price');
  await page.getByLabel('Take Internal').uncheck();
  await page.getByRole('button', { name: 'Write the options as JSON' }).click();
  await page.getByLabel('Options as JSON').fill(JSON.stringify(rules));
  await page.getByLabel('Name of the template').fill('Monthly prices');
  await page.getByRole('button', { name: 'Save as template' }).click();
  await page.getByText('Saved.').waitFor();

  await page.goto(`${server.url}/items/new`);
  await page.getByLabel('File of rows').setInputFiles(file);
  await page.getByLabel('Name of Cost in the job').waitFor();
  await page.getByLabel('Use a saved template').selectOption('Monthly prices');
  expect(await page.getByLabel('Name of Cost in the job').inputValue()).toBe('price');
  expect(await page.getByLabel('Take Internal').isChecked()).toBe(false);
  expect(await findBarriers(page)).toEqual([]);
  if (process.env.SCREENS)
    await page.screenshot({ path: `${process.env.SCREENS}/template.png`, fullPage: true });
  await page.getByRole('button', { name: 'Send the rows' }).click();
  await page.getByText('partly done').first().waitFor();

  await page.getByLabel('Order of the rows').selectOption('By state');
  await page.getByText('3 of 3 rows loaded').waitFor();
  const lines = await page.locator('.grid-box tbody tr').allInnerTexts();
  expect(lines).toHaveLength(3);
  // Done rows come before failed ones in the order of states, and row 2 has failed.
  expect(lines.at(-1)).toContain('price must be a number');
  if (process.env.SCREENS) await page.screenshot({ path: `${process.env.SCREENS}/order.png` });
});
