import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { findBarriers } from './axe.ts';
import { useBrowser } from './browser.ts';
import { useConsoleServer } from './console-server.ts';

const database = useDatabase();
const server = useConsoleServer(database);
const browser = useBrowser();

async function openNewUpload(): Promise<{ page: Page; tenantId: string }> {
  const tenantId = await newTenant(database);
  const authorization = `Bearer ${await server.token({ tenantId })}`;
  const made = await fetch(`${server.url}/api/workspaces`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Main' }),
  });
  expect(made.status).toBe(201);
  const { page } = await browser.open();
  await page.goto(await server.loginLink({ tenantId, role: 'member', userId: 'mia' }, '/uploads/new'));
  await page.getByRole('heading', { name: 'New upload' }).waitFor();
  return { page, tenantId };
}

async function upload(page: Page, name: string, content: string): Promise<void> {
  const file = { name, mimeType: 'text/csv', buffer: Buffer.from(content) };
  await page.getByLabel('Report file').setInputFiles(file);
  await page.getByRole('button', { name: 'Upload and review' }).click();
  await page.getByRole('heading', { name }).waitFor();
}

async function expectNoBarriers(page: Page): Promise<void> {
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor();
    expect([colorScheme, await findBarriers(page)]).toEqual([colorScheme, []]);
  }
}

const sum = (page: Page, words: string) => page.locator('.counts').getByText(words);

const spends = (tenantId: string) =>
  database.owner<{ day: string; spend: number }>(
    'select metric_date::text as day, spend::float from daily_metrics where tenant_id = $1 order by 1',
    [tenantId],
  );

test('cells of rejected rows are corrected in place, taken back, corrected again and promoted', async () => {
  const { page, tenantId } = await openNewUpload();
  const lines = ['A,1,2026-03-01,7,1.50', 'A,1,someday,7,2.25', 'B,2,2026-03-03,7,much'];
  const header = 'Campaign name,Campaign ID,Day,Clicks,Amount spent (USD)';
  await upload(page, 'march.csv', `${[header, ...lines].join('\n')}\n`);
  await sum(page, '3 rows = 1 valid + 2 rejected').waitFor();
  const panel = page.getByRole('region', { name: 'Correct rejected rows here' });
  await panel.getByLabel('Day of line 3').fill('2026-03-02');
  await panel.getByLabel('Amount spent (USD) of line 4').fill('3.00');
  await expectNoBarriers(page);
  await panel.getByRole('button', { name: 'Save 2 corrected rows' }).click();
  await sum(page, '3 rows = 3 valid').waitFor();

  const corrected = page.getByRole('region', { name: '2 corrected cells' });
  await corrected.getByText('by mia').first().waitFor();
  await expectNoBarriers(page);
  await corrected.getByRole('button', { name: /Take back the correction of Amount spent/ }).click();
  await sum(page, '3 rows = 2 valid + 1 rejected').waitFor();
  await panel.getByLabel('Amount spent (USD) of line 4').fill('3.50');
  await panel.getByRole('button', { name: 'Save 1 corrected row' }).click();
  await sum(page, '3 rows = 3 valid').waitFor();
  await page.getByRole('button', { name: 'Promote 3 rows' }).click();
  await sum(page, '3 rows = 3 promoted').waitFor();
  await corrected.getByRole('link', { name: 'corrections.csv' }).waitFor();
  expect(await spends(tenantId)).toEqual([
    { day: '2026-03-01', spend: 1.5 },
    { day: '2026-03-02', spend: 2.25 },
    { day: '2026-03-03', spend: 3.5 },
  ]);
});

test('a report with a breakdown is reviewed, promoted as sums, and shows its lines', async () => {
  const { page, tenantId } = await openNewUpload();
  const rows = ['18-24', '25-34', '35-44'].map(
    (age, at) => `Spring,11,2026-03-01,${age},${10 + at},${at + 1}.25`,
  );
  const header = 'Campaign name,Campaign ID,Day,Age,Impressions,Amount spent (USD)';
  await upload(page, 'ages.csv', `${[header, ...rows].join('\n')}\n`);
  await sum(page, '3 rows = 3 valid').waitFor();
  await page.getByText('Broken down by Age').waitFor();
  await page.getByRole('row', { name: 'Daily figures 1 0 0 1' }).waitFor();
  await expectNoBarriers(page);
  await page.getByRole('button', { name: 'Promote 3 rows' }).click();
  await sum(page, '3 rows = 3 promoted').waitFor();
  await page.getByText('The sums agree').waitFor();
  await page.getByRole('tab', { name: 'Breakdowns' }).click();
  await page.getByRole('row', { name: /2026-03-01 25-34 3 Spring/ }).waitFor();
  await expectNoBarriers(page);
  expect(await spends(tenantId)).toEqual([{ day: '2026-03-01', spend: 6.75 }]);
});
