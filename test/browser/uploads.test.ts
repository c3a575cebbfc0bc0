import { readFile } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { TestClaims } from '../support/servers/server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { findBarriers } from './axe.ts';
import { useBrowser } from './browser.ts';
import { useConsoleServer } from './console-server.ts';

const database = useDatabase();
const server = useConsoleServer(database);
const browser = useBrowser();

async function newDesk(): Promise<string> {
  const tenantId = await newTenant(database);
  const authorization = `Bearer ${await server.token({ tenantId })}`;
  const made = await fetch(`${server.url}/api/workspaces`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Main' }),
  });
  expect(made.status).toBe(201);
  return tenantId;
}

async function openAs(claims: TestClaims, to = '/uploads') {
  const opened = await browser.open();
  await opened.page.goto(await server.loginLink(claims, to));
  return opened;
}

const header = 'Campaign name,Campaign ID,Day,Clicks,Amount spent (USD)';
const csv = (...lines: string[]) => [header, ...lines, ''].join('\n');
const goodRows = (count: number) =>
  Array.from({ length: count }, (_, n) => `Spring ${n % 2},${11 + (n % 2)},2026-03-${10 + n},7,1.50`);

/** Through the form, as a person does it. */
async function upload(page: Page, name: string, content: string | Buffer): Promise<void> {
  await page.getByRole('heading', { name: 'New upload' }).waitFor();
  const buffer = Buffer.from(content);
  await page.getByLabel('Report file').setInputFiles({ name, mimeType: 'text/csv', buffer });
  await page.getByRole('button', { name: 'Upload and review' }).click();
}

async function expectNoBarriers(page: Page): Promise<void> {
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor();
    expect([colorScheme, await findBarriers(page)]).toEqual([colorScheme, []]);
  }
}

async function choose(page: Page, field: string, option: string): Promise<void> {
  await page.getByRole('combobox', { name: field }).click();
  await page.getByRole('option', { name: option, exact: true }).click();
}

const sum = (page: Page, words: string) => page.locator('.counts').getByText(words);

test('bad rows are grouped by reason, downloaded, corrected, uploaded, promoted and undone', async () => {
  const tenantId = await newDesk();
  const { page } = await openAs({ tenantId, role: 'member', userId: 'mia' });
  await page.getByText('Upload a report of Meta, Google or TikTok').waitFor();
  await expectNoBarriers(page);
  await page.getByRole('link', { name: 'New upload' }).first().click();
  const bad = ['Spring 0,11,someday,7,1.50', 'Spring 1,1.2E+17,2026-03-02,7,1.50'];
  await upload(page, 'march.csv', csv(...goodRows(20), ...bad));

  await page.getByRole('heading', { name: 'march.csv' }).waitFor();
  await sum(page, '22 rows = 20 valid + 2 rejected').waitFor();
  const groups = page.getByRole('region', { name: '2 rows rejected' });
  await groups.getByText('The date cannot be read').waitFor();
  await groups.getByText('The id was damaged by a spreadsheet').waitFor();
  const dates = groups.getByRole('listitem').filter({ hasText: 'The date cannot be read' });
  await dates.getByRole('button', { name: 'Show 1 example row' }).click();
  await groups.getByRole('cell', { name: 'someday' }).waitFor();
  await page.getByRole('row', { name: 'Daily figures 20 0 0 20' }).waitFor();
  await expectNoBarriers(page);

  const [download] = await Promise.all([
    page.waitForEvent('download'),
    groups.getByRole('link', { name: 'rejected.csv' }).click(),
  ]);
  const rejected = await readFile(await download.path(), 'utf8');
  await page.getByRole('button', { name: 'Promote 20 rows' }).click();
  await sum(page, '22 rows = 20 promoted + 2 rejected').waitFor();
  await page.getByRole('row', { name: /2026-03-10 Spring 0/ }).waitFor();
  await expectNoBarriers(page);

  await page.getByRole('link', { name: 'Upload a corrected file' }).click();
  expect(await page.getByRole('combobox', { name: 'Platform' }).inputValue()).toBe('Meta Ads');
  await upload(page, 'corrected.csv', corrected(rejected));
  await page.getByRole('heading', { name: 'corrected.csv' }).waitFor();
  await sum(page, '2 rows = 2 valid').waitFor();
  await page.getByRole('row', { name: 'Campaigns 0 0 2 2' }).waitFor();
  await page.getByRole('button', { name: 'Promote 2 rows' }).click();
  await sum(page, '2 rows = 2 promoted').waitFor();

  await page.getByRole('button', { name: 'Undo this upload' }).click();
  const question = page.getByRole('dialog');
  await question.getByText('2 daily figures – what this upload created').waitFor();
  await question.getByText('2 campaigns – they were there before it').waitFor();
  await question.getByRole('button', { name: 'Undo this upload' }).click();
  const undone = page.getByText('2 daily figures deleted; 2 campaigns not undone.');
  await undone.waitFor();
  await page.reload();
  await undone.waitFor();
  const left = await database.owner('select 1 from daily_metrics where tenant_id = $1', [tenantId]);
  expect(left).toHaveLength(20);
});

/** As a person does in a spreadsheet: the reasons stay where they are. */
function corrected(rejected: string): string {
  const rows = parse(rejected, { bom: true }) as string[][];
  expect(rows[0]?.at(-1)).toBe('Rejection reason');
  return rows
    .map((cells) => cells.map((cell) => cell.replace('someday', '2026-03-01').replace('1.2E+17', '12')))
    .map((cells) => cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(','))
    .join('\n');
}

test('unknown columns are mapped by their values, tried and remembered', async () => {
  const tenantId = await newDesk();
  const { page } = await openAs({ tenantId });
  const odd = 'Kampf,Wann,Klickibus\nSpring,2026-03-01,7\nAutumn,2026-03-02,8\n';
  // A file may also be dropped on the list; this one does not reveal its platform.
  const dropped = { name: 'odd.csv', mimeType: 'text/csv', buffer: Buffer.from(odd) };
  await page.getByLabel('Report file').setInputFiles(dropped);
  await page.getByText('The file does not say. Please choose').waitFor();
  await expectNoBarriers(page);
  await choose(page, 'Platform', 'TikTok Ads');
  await page.getByRole('button', { name: 'Upload and review' }).click();

  await page.getByText('Say which column is the day, the campaign and at least one figure').waitFor();
  await page.getByText('waits for your mapping').waitFor();
  const line = page.getByRole('row', { name: /^Wann/ });
  await line.getByText('2026-03-01 · 2026-03-02').waitFor();
  expect(await page.getByRole('button', { name: 'Continue to the check' }).isDisabled()).toBe(true);
  await line.getByRole('button', { name: 'Apply' }).click();
  await choose(page, 'Kampf is read as', 'Campaign name');
  await choose(page, 'Klickibus is read as', 'Clicks');
  await expectNoBarriers(page);
  await page.getByRole('button', { name: 'Check with these columns' }).click();
  await sum(page, '2 rows = 2 valid').waitFor();

  // A wrong choice is tried as well and changes nothing; a colleague who opens the link sees the same.
  await page.getByRole('button', { name: 'Columns', exact: true }).click();
  await choose(page, 'Klickibus is read as', 'Day');
  await page.getByText('“Wann” already gives Day: this one is left out').waitFor();
  await choose(page, 'Klickibus is read as', 'Reach');
  await page.getByRole('button', { name: 'Check with these columns' }).click();
  await sum(page, '2 rows = 2 valid').waitFor();
  const colleague = await openAs({ tenantId, userId: 'bob' }, new URL(page.url()).pathname);
  await colleague.page.getByRole('button', { name: 'Promote 2 rows' }).click();
  // Without a reload: the first page gets the event.
  await page.getByText('What arrived').waitFor();
  await sum(page, '2 rows = 2 promoted').waitFor();

  await page.goto(`${server.url}/uploads/new?platform=tiktok`);
  await upload(page, 'again.csv', odd);
  await page.getByText('Nothing would change').waitFor();
  await page.getByRole('button', { name: 'Columns', exact: true }).click();
  const known = page.getByRole('row', { name: /^Klickibus/ });
  await known.getByText('Remembered from before').waitFor();
  expect(await known.getByRole('combobox').inputValue()).toBe('Reach');
  await known.getByRole('button', { name: 'Forget' }).click();
  await known.getByText('Your choice').waitFor();
});

test('a refusal is shown at its field, and the corrected form is accepted', async () => {
  const tenantId = await newDesk();
  const { page, watch } = await openAs({ tenantId }, '/uploads/new?platform=meta');
  watch.expect(/status of 4(00|15|22)|ERR_INTERNET_DISCONNECTED/);
  await page.getByLabel('Client').fill('nobody');
  await upload(page, 'march.csv', Buffer.from('504b0304000000000000', 'hex'));
  await page.getByText('must be a UUID').waitFor();
  await page.getByLabel('Client').fill('');
  await page.getByRole('button', { name: 'Upload and review' }).click();
  await page.getByText('The file is damaged').waitFor();
  await expectNoBarriers(page);
  const good = { name: 'march.csv', mimeType: 'text/csv', buffer: Buffer.from(csv(...goodRows(2))) };
  await page.getByLabel('Report file').setInputFiles(good);
  await page.context().setOffline(true);
  await page.getByRole('button', { name: 'Upload and review' }).click();
  await page.getByText('Nothing was stored; try again.').waitFor();
  await page.context().setOffline(false);
  await page.getByRole('button', { name: 'Upload and review' }).click();
  await sum(page, '2 rows = 2 valid').waitFor();
  await page.getByRole('button', { name: 'Discard' }).click();
  await page.getByRole('button', { name: 'Discard upload' }).click();
  await page.getByText('Somebody discarded this upload').waitFor();
  await page.goto(`${server.url}/uploads?status=failed`);
  await page.getByRole('link', { name: 'march.csv' }).waitFor();
  expect(await page.getByRole('row', { name: /canceled/ }).count()).toBe(1);
});

test('an upload below the threshold needs an explicit confirmation; support can only read', async () => {
  const tenantId = await newDesk();
  const { page } = await openAs({ tenantId }, '/uploads/new');
  await upload(page, 'half.csv', csv(...goodRows(6), ...Array(4).fill('Spring,11,never,7,1.50')));
  await page.getByText('60% of them are valid, 90 % are needed').waitFor();
  const address = page.url();

  const support = await openAs({ tenantId, role: 'support', userId: 'sue' }, new URL(address).pathname);
  await support.page.getByText('Too many rows are rejected').waitFor();
  const forbidden = support.page.getByRole('button', { name: 'Promote only the 6 valid' });
  expect(await forbidden.isDisabled()).toBe(true);
  expect(await support.page.getByRole('button', { name: 'Discard' }).count()).toBe(0);
  await support.page.goto(`${server.url}/uploads/new`);
  await support.page.getByText('can read uploads but not create any').waitFor();

  await page.getByRole('button', { name: 'Promote only the 6 valid' }).click();
  await page.getByText('4 rows will be missing from the data').waitFor();
  await expectNoBarriers(page);
  await page.getByRole('button', { name: 'Promote 6 rows' }).click();
  await sum(page, '10 rows = 6 promoted + 4 rejected').waitFor();
  await page.getByText('partly done').waitFor();
  await page.getByRole('link', { name: '2 campaigns: show them' }).click();
  await page.getByRole('row', { name: /^Spring 0 11/ }).waitFor();
  expect(page.url()).toContain('tab=campaigns');
});
