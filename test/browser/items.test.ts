import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { textRow, workbookOf } from '../generators/workbook.ts';
import type { TestClaims } from '../support/servers/server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { findBarriers } from './axe.ts';
import { useBrowser } from './browser.ts';
import { useConsoleServer } from './console-server.ts';

const database = useDatabase();
const server = useConsoleServer(database);
const browser = useBrowser();

/** Knows most articles, returns 404 for some, and never responds under /silent. */
let provider: Server;
let providerUrl = '';

beforeAll(async () => {
  provider = createServer((request, reply) => {
    const [, place, sku] = (request.url ?? '').split('/');
    if (place === 'silent') return;
    reply.writeHead(sku?.endsWith('7') ? 404 : 200, { 'content-type': 'application/json' });
    reply.end(`{"sku":"${sku}","ean":12345678901234567890}`);
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  providerUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
});
afterAll(async () => {
  provider.closeAllConnections();
  await new Promise((resolve) => provider.close(resolve));
});

async function openAs(claims: TestClaims, to = '/items') {
  const headers = { authorization: `Bearer ${await server.token(claims)}` };
  expect((await fetch(`${server.url}/api/me`, { headers })).status).toBe(200);
  const opened = await browser.open();
  await opened.page.goto(await server.loginLink(claims, to));
  return opened;
}

async function expectNoBarriers(page: Page): Promise<void> {
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor();
    expect([colorScheme, await findBarriers(page)]).toEqual([colorScheme, []]);
  }
}

const csv = (rows: number, price: (at: number) => string = (at) => `${at}.50`) =>
  [
    'sku,title,price',
    ...Array.from({ length: rows }, (_, at) => `${1000 + at},Article ${at},${price(at)}`),
  ].join('\n');

async function choose(page: Page, name: string, content: string | Buffer): Promise<void> {
  const mimeType = typeof content === 'string' ? 'text/csv' : 'application/octet-stream';
  await page.getByLabel('File of rows').setInputFiles({ name, mimeType, buffer: Buffer.from(content) });
}

/** Without the form, as a program sends it. */
async function post(
  claims: TestClaims,
  job: { name: string; content: string; processor: string; options: object },
) {
  const form = new FormData();
  form.set('processor', job.processor);
  form.set('options', JSON.stringify(job.options));
  form.set('file', new Blob([job.content]), job.name);
  const headers = { authorization: `Bearer ${await server.token(claims)}` };
  const answer = await fetch(`${server.url}/api/jobs`, { method: 'POST', headers, body: form });
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { jobId: string }).jobId;
}

const chip = (page: Page, name: string | RegExp) =>
  page.locator('.count-chips').getByRole('button', { name });

test('a file is checked by rules; rows that break them are filtered, opened, reprocessed and exported', async () => {
  const tenantId = await newTenant(database);
  const { page, watch } = await openAs({ tenantId, role: 'member', userId: 'mia' });
  watch.expect(/status of 4(00|22)|ERR_INTERNET_DISCONNECTED/);
  await page.getByText('Upload a file of rows').waitFor();
  await expectNoBarriers(page);
  await page.getByRole('link', { name: 'New items job' }).first().click();
  await choose(
    page,
    'prices.csv',
    csv(40, (at) => (at % 16 === 3 ? 'dear' : `${at}.50`)),
  );
  // The columns of the file are offered; the first rule has the first of them.
  await page.getByRole('group', { name: 'Rule for sku' }).waitFor();
  await page.getByRole('button', { name: 'Add rule' }).click();
  const price = page.getByRole('group', { name: 'Rule for title' });
  await price.getByRole('combobox', { name: 'Column' }).fill('price');
  const rule = page.getByRole('group', { name: 'Rule for price' });
  await rule.getByLabel('Matches').fill('a(?=b)');
  await page.getByRole('button', { name: 'Send the rows' }).click();
  // A refusal is shown at its field, and the form stays.
  await page.getByText('processor_options_invalid').waitFor();
  await rule.locator('[class*="error"]').first().waitFor();
  await expectNoBarriers(page);
  await rule.getByLabel('Matches').fill('');
  await rule.getByRole('combobox', { name: 'Is a' }).click();
  await page.getByRole('option', { name: 'number' }).click();
  await page.context().setOffline(true);
  await page.getByRole('button', { name: 'Send the rows' }).click();
  await page.getByText('No row was stored; try again.').waitFor();
  await page.context().setOffline(false);
  await page.getByRole('button', { name: 'Send the rows' }).click();

  await page.getByRole('heading', { name: 'prices.csv' }).waitFor();
  await chip(page, '37 done').waitFor();
  await chip(page, '3 errors').click();
  await page.getByText('3 of 3 rows loaded').waitFor();
  await page
    .getByRole('cell', { name: /price must be a number/ })
    .first()
    .waitFor();
  await expectNoBarriers(page);
  await page.getByRole('button', { name: 'Open row 4', exact: true }).click();
  const drawer = page.getByRole('dialog', { name: 'Row 4' });
  await drawer.getByRole('cell', { name: 'dear' }).waitFor();
  await drawer.getByRole('tab', { name: 'History' }).click();
  await drawer.getByText('It was row 4 of prices.csv.').waitFor();
  await expectNoBarriers(page);
  await page.keyboard.press('Escape');
  await drawer.waitFor({ state: 'hidden' });

  for (const row of [4, 20])
    await page.getByRole('checkbox', { name: `Choose row ${row}`, exact: true }).check();
  await page.getByRole('button', { name: 'Reprocess 2 rows' }).click();
  await page.getByText('2 rows will be processed again.').waitFor();
  await chip(page, '3 errors').waitFor();
  await page.getByRole('button', { name: 'Export' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: '40 rows as CSV' }).click(),
  ]);
  const lines = (await readFile(await download.path(), 'utf8')).trim().split(/\r?\n/);
  expect(lines).toHaveLength(41);
  expect(lines[0]).toContain('row_no,status,sku,title,price');
});

test('the sheet of a workbook can be named, and a missing sheet is reported at its field', async () => {
  const tenantId = await newTenant(database);
  const { page, watch } = await openAs({ tenantId }, '/items/new?processor=noop');
  watch.expect(/status of 422/);
  await choose(page, 'rows.csv', csv(1));
  await page.getByText('rows.csv').waitFor();
  const sheet = page.getByRole('textbox', { name: 'Sheet' });
  expect(await sheet.count()).toBe(0);
  const sheets = ['Notes', 'Prices'].map((name) => ({ name, rows: textRow('sku') + textRow(`of ${name}`) }));
  await choose(page, 'book.xlsx', workbookOf({ sheets }));
  await sheet.fill('Costs');
  await page.getByRole('button', { name: 'Send the rows' }).click();
  const said = 'The workbook has no sheet "Costs". Its sheets are "Notes", "Prices".';
  await page.locator('.mantine-TextInput-error').getByText(said).waitFor();
  await expectNoBarriers(page);
  await sheet.fill(' prices ');
  await page.getByRole('button', { name: 'Send the rows' }).click();
  await page.getByRole('cell', { name: 'of Prices' }).waitFor();
});

test('rows that a provider does not know can be retried, and every call is listed', async () => {
  const tenantId = await newTenant(database);
  const { page } = await openAs({ tenantId }, '/items/new?processor=http');
  await choose(page, 'catalogue.csv', csv(30));
  await page.getByLabel('Address').fill(`${providerUrl}/articles/{{sku}}`);
  await page.getByRole('button', { name: 'Write the options as JSON' }).click();
  await page.getByLabel('Options as JSON').waitFor();
  await page.getByRole('button', { name: 'Back to the form' }).click();
  await page.getByRole('button', { name: 'Send the rows' }).click();
  await chip(page, '27 done').waitFor();
  await chip(page, '3 not found').click();
  await page.getByRole('button', { name: 'Open row 8', exact: true }).click();
  await page.getByRole('tab', { name: 'Provider calls (1)' }).click();
  await page.getByRole('dialog').getByText('returned 404').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Reprocess 3 failed' }).click();
  const question = page.getByRole('dialog', { name: '3 rows have no attempts left' });
  await expectNoBarriers(page);
  await question.getByRole('button', { name: 'Reprocess 3 with new attempts' }).click();
  await page.getByText('3 rows will be processed again.').waitFor();
  await chip(page, '3 not found').waitFor();
  await page.getByRole('tab', { name: 'Control' }).click();
  await page.getByRole('figure', { name: 'Rows per claim over time' }).waitFor();
  await page.getByText('its rows were written together with the job, in one batch').waitFor();
  await page.getByRole('figure', { name: /Calls at once/ }).waitFor();
  await expectNoBarriers(page);

  // Numbers longer than a browser's own are shown as they are.
  const content = '{"ean":12345678901234567890,"price":1.50}\n';
  const exact = await post({ tenantId }, { name: 'long.ndjson', content, processor: 'noop', options: {} });
  await page.goto(`${server.url}/items/${exact}`);
  await chip(page, '1 done').waitFor();
  await page.getByRole('cell', { name: '12345678901234567890' }).waitFor();
  await page.getByRole('cell', { name: '1.50' }).waitFor();
});

test('any of twenty thousand rows is reached at once, few are loaded, and the counts always add up', async () => {
  const tenantId = await newTenant(database);
  const claims = { tenantId };
  const options = { rules: [{ column: 'price', type: 'number' }] };
  const jobId = await post(claims, {
    name: 'many.csv',
    content: csv(20_000),
    processor: 'validate',
    options,
  });
  const { page } = await openAs(claims, `/items/${jobId}`);
  let asked = 0;
  page.on('request', (request) => {
    if (request.url().includes('/items?')) asked += 1;
  });
  await page.getByRole('heading', { name: 'many.csv' }).waitFor();
  const sums = async () => {
    // In one step: a locator would find the numbers first and read them later.
    const numbers = await page.evaluate<string[]>(
      '[...document.querySelectorAll(".count-chips b")].map((part) => part.innerText)',
    );
    const [total = 0, ...parts] = numbers.map((text) => Number(text.replaceAll(',', '')));
    return { total, sum: parts.reduce((all, part) => all + part, 0), isDone: parts.length === 1 };
  };
  for (let looked = await sums(); ; looked = await sums()) {
    expect(looked.sum).toBe(looked.total);
    if (looked.isDone) break;
  }
  await chip(page, '20,000 done').waitFor();
  asked = 0;
  await page.getByLabel('Go to row').fill('12345');
  await page.getByLabel('Go to row').press('Enter');
  await page.getByRole('cell', { name: 'Article 12344', exact: true }).waitFor();
  await page.keyboard.press('Escape');
  const box = page.locator('.grid-box');
  await box.evaluate((element: { scrollTop: number; scrollHeight: number }) => {
    element.scrollTop = element.scrollHeight;
  });
  await page.getByRole('cell', { name: 'Article 19999', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Row', exact: true }).click();
  await page.getByRole('cell', { name: 'Article 0', exact: true }).waitFor();
  expect(new URL(page.url()).searchParams.get('sort')).toBe('-rowNo');
  expect(asked).toBeLessThan(12);
  expect(await page.locator('.grid-window tbody tr').count()).toBeLessThan(60);

  // By keyboard alone, and with columns that a colleague gets with the link.
  await box.focus();
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('x');
  await page.getByRole('button', { name: 'Reprocess 1 row' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: /^Row / }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('checkbox', { name: 'Attempts' }).check();
  await page.getByRole('columnheader', { name: 'Attempts' }).waitFor();
  await expectNoBarriers(page);
  await page.reload();
  await page.getByRole('columnheader', { name: 'Attempts' }).waitFor();
});

test('pending rows of all files are listed; a file is paused, resumed and canceled; support may read', async () => {
  const tenantId = await newTenant(database);
  const request = { url: `${providerUrl}/silent/{{sku}}` };
  const options = { request, timeoutMs: 120_000 };
  const jobId = await post(
    { tenantId },
    { name: 'waiting.csv', content: csv(120), processor: 'http', options },
  );
  const { page } = await openAs({ tenantId }, '/pending');
  await page
    .getByRole('cell', { name: /^Article \d+$/ })
    .first()
    .waitFor();
  await expectNoBarriers(page);
  await page.getByRole('combobox', { name: 'Status' }).click();
  await page.getByRole('option', { name: 'Processing' }).click();
  await page.waitForURL(/status=PROCESSING/);
  await page.getByText('120 rows open').waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByRole('checkbox', { name: 'Choose this row' }).first().check();
  await page.getByRole('button', { name: 'Reprocess 1 row' }).click();
  await page.getByText('1 row is still open and will be processed anyway.').waitFor();
  await page.getByRole('link', { name: 'Go to job' }).first().click();

  await page.getByRole('heading', { name: 'waiting.csv' }).waitFor();
  expect(new URL(page.url()).pathname).toBe(`/items/${jobId}`);
  await page.getByRole('tab', { name: 'Pending (120)' }).click();
  await page.getByText(/120 open rows = \d+ pending \+ \d+ processing/).waitFor();
  await expectNoBarriers(page);
  const support = await openAs({ tenantId, role: 'support', userId: 'sue' }, `/items/${jobId}`);
  await support.page.getByText('Your role can read jobs but not control them.').waitFor();
  expect(await support.page.getByRole('checkbox').count()).toBe(0);
  await support.page.goto(`${server.url}/items/new`);
  await support.page.getByText('Your role can read rows but not upload any.').waitFor();

  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByText('It waits until somebody resumes it.').waitFor();
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('button', { name: 'Pause' }).waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').getByText('120 open rows will be skipped').waitFor();
  await page.getByRole('button', { name: 'Cancel job' }).click();
  // The calls without a response are aborted.
  await page
    .getByText(/^Canceled/)
    .first()
    .waitFor();
  expect(await page.getByRole('button', { name: 'Resume' }).count()).toBe(0);
});
