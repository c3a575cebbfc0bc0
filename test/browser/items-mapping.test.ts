import { readFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startBucketProvider } from '../support/fakes/bucket-provider.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { findBarriers } from './axe.ts';
import { useBrowser } from './browser.ts';
import { useConsoleServer } from './console-server.ts';

const database = useDatabase();
const server = useConsoleServer(database);
const browser = useBrowser();

const sheet = [
  'Price list of March;;;',
  ';;;',
  'Article;Cost;Name;Internal',
  'A1;1.50;Plain shirt;x',
  'A2;cheap;5" pipe;y',
  'A3;3.00;Cap',
].join('\r\n');

test('a spreadsheet is mapped, tried, run, corrected and exported', async () => {
  const tenantId = await newTenant(database);
  const claims = { tenantId, role: 'member', userId: 'mia' } as const;
  const headers = { authorization: `Bearer ${await server.token(claims)}` };
  expect((await fetch(`${server.url}/api/me`, { headers })).status).toBe(200);
  const { page } = await browser.open();
  await page.goto(await server.loginLink(claims, '/items/new?processor=validate'));
  const file = { name: 'prices.csv', mimeType: 'text/csv', buffer: Buffer.from(sheet) };
  await page.getByLabel('File of rows').setInputFiles(file);

  await page.getByText('3 rows · CSV · utf-8').waitFor();
  await page.getByText('Lines above the header were skipped').waitFor();
  await page.getByLabel('Name of Article in the job').fill('sku');
  await page.getByLabel('Name of Cost in the job').fill('price');
  await page.getByLabel('Take Internal').uncheck();
  await page.getByRole('button', { name: 'Write the options as JSON' }).click();
  const rules = { rules: [{ column: 'price', type: 'number', required: true }] };
  await page.getByLabel('Options as JSON').fill(JSON.stringify(rules));

  await page.getByRole('button', { name: 'Try on 5 rows' }).click();
  await page.getByText('"sku":"A1"').waitFor();
  expect(await page.locator('.tried li').count()).toBe(3);
  expect(await findBarriers(page)).toEqual([]);
  if (process.env.SCREENS)
    await page.screenshot({ path: `${process.env.SCREENS}/mapping.png`, fullPage: true });

  await page.getByRole('button', { name: 'Send the rows' }).click();
  await page.getByText('Why rows failed').waitFor();
  await page.getByText('partly done').first().waitFor();
  await page.getByText('The row breaks a rule').waitFor();
  if (process.env.SCREENS) await page.screenshot({ path: `${process.env.SCREENS}/job.png`, fullPage: true });

  await page.getByRole('button', { name: 'Show 1 row: The row breaks a rule' }).click();
  await page.getByText('1 row loaded that failed with validation_failed').waitFor();
  await page.getByRole('button', { name: 'Open row 2', exact: true }).click();
  await page.getByRole('tab', { name: 'Input' }).click();
  await page.getByRole('button', { name: 'Correct price' }).click();
  await page.getByLabel('New value of price').fill('2.50');
  if (process.env.SCREENS) await page.screenshot({ path: `${process.env.SCREENS}/correct.png` });
  await page.getByRole('button', { name: 'Save and run again' }).click();
  await page.getByText('price was corrected; the row runs again.').waitFor();
  await page.keyboard.press('Escape');
  await page.getByText('Why rows failed').waitFor({ state: 'detached' });

  await page.getByRole('button', { name: 'Export' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: 'With input and reasons, as CSV' }).click(),
  ]);
  const lines = (await readFile(await download.path(), 'utf8')).trim().split('\r\n');
  expect(lines[0]).toBe(
    'row_no,status,error_code,last_error,input.sku,input.price,input.Name,sku,price,Name',
  );
  expect(lines[2]).toBe('2,DONE,,,A2,2.50,"5"" pipe",A2,2.5,"5"" pipe"');
});

test('a waterfall is put together from steps, and each row says which step answered', async () => {
  const tenantId = await newTenant(database);
  const has = (kind: string) => (sku: string) => (sku.startsWith(kind) ? null : 404);
  const [own, other] = await Promise.all([
    startBucketProvider({ always: has('a') }),
    startBucketProvider({ always: has('b') }),
  ]);
  onTestFinished(async () => {
    await Promise.all([own.close(), other.close()]);
  });
  const { page, watch } = await browser.open();
  watch.expect(/status of 422/);
  const claims = { tenantId, role: 'admin', userId: 'ada' } as const;
  await page.goto(await server.loginLink(claims, '/items/new?processor=chain'));
  const file = { name: 'skus.csv', mimeType: 'text/csv', buffer: Buffer.from('sku\na1\nb1\n') };
  await page.getByLabel('File of rows').setInputFiles(file);
  await page.getByText('2 rows · CSV · utf-8').waitFor();
  for (const [index, { name, url }] of [
    { name: 'own', url: own.url },
    { name: 'other', url: 'http:/x' },
  ].entries()) {
    const step = page.getByRole('group', { name: `Step ${index + 1}` });
    await step.getByLabel('Name of the step').fill(name);
    await step.getByLabel('Address').fill(`${url}/items/{{sku}}`);
  }
  await page.getByRole('button', { name: 'Send the rows' }).click();
  const second = page.getByRole('group', { name: 'Step 2' });
  await second.getByText('must start with http:// or https:// and a literal host').waitFor();
  await second.getByLabel('Address').fill(`${other.url}/items/{{sku}}`);
  expect(await findBarriers(page)).toEqual([]);
  if (process.env.SCREENS)
    await page.screenshot({ path: `${process.env.SCREENS}/chain.png`, fullPage: true });
  await page.getByRole('button', { name: 'Send the rows' }).click();
  await page.getByRole('columnheader', { name: 'answered_by' }).waitFor();
  await page.getByText('Title of b1').waitFor();
  if (process.env.SCREENS)
    await page.screenshot({ path: `${process.env.SCREENS}/chain-job.png`, fullPage: true });
  const { host } = new URL(other.url);
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Providers' }).click();
  await page.getByText(host).click();
  await page.getByLabel('Calls per second').fill('2.5');
  await page.getByRole('button', { name: 'Save limits' }).click();
  await page.getByText(`The limits of ${host} hold from now on.`).waitFor();
  await page.getByRole('cell', { name: '2.5', exact: true }).waitFor();
  expect(await findBarriers(page)).toEqual([]);
  if (process.env.SCREENS) await page.screenshot({ path: `${process.env.SCREENS}/providers.png` });
  expect([own.calls.map(({ sku }) => sku).toSorted(), other.calls.map(({ sku }) => sku)]).toEqual([
    ['a1', 'b1'],
    ['b1'],
  ]);
});
