import { readFile } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { uploadForm } from '../support/servers/upload-server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { findBarriers } from './axe.ts';
import { useBrowser } from './browser.ts';
import { useConsoleServer } from './console-server.ts';

const database = useDatabase();
const server = useConsoleServer(database);
const browser = useBrowser();

const days = Array.from({ length: 20 }, (_, at) => `2026-03-${String(at + 1).padStart(2, '0')}`);
const report = [
  'Day,Campaign,Campaign ID,Device,Impr.,Clicks,Cost,Currency code',
  ...days.flatMap((day, at) => [
    `${day},Spring sale,11,Phones,${100 + at},${10 + at},${at}.25,EUR`,
    `${day},Spring sale,11,Computers,50,5,1.00,EUR`,
    `${day},Überraschung,12,Phones,200,20,3.50,USD`,
  ]),
  '',
].join('\n');

async function newFigures(): Promise<string> {
  const tenantId = await newTenant(database);
  const headers = { authorization: `Bearer ${await server.token({ tenantId })}` };
  const made = await fetch(`${server.url}/api/workspaces`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Main' }),
  });
  const { workspace_id: workspaceId } = (await made.json()) as { workspace_id: string };
  const body = uploadForm(report, { workspace_id: workspaceId, platform: 'google' }, 'march.csv');
  const sent = await fetch(`${server.url}/api/uploads`, { method: 'POST', headers, body });
  expect(sent.status).toBe(201);
  const { upload_id: uploadId } = (await sent.json()) as { upload_id: string };
  await expect
    .poll(async () => {
      const answer = await fetch(`${server.url}/api/uploads/${uploadId}`, { headers });
      return ((await answer.json()) as { status: string }).status;
    })
    .toBe('completed');
  return tenantId;
}

async function choose(page: Page, field: string, option: string): Promise<void> {
  await page.getByRole('combobox', { name: field }).click();
  await page.getByRole('option', { name: option, exact: true }).click();
}

async function expectNoBarriers(page: Page): Promise<void> {
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor();
    expect([colorScheme, await findBarriers(page)]).toEqual([colorScheme, []]);
  }
}

test('figures are added up, drawn, grouped, filtered, exported and followed to their line', async () => {
  const tenantId = await newFigures();
  const { page } = await browser.open();
  await page.goto(await server.loginLink({ tenantId, role: 'admin' }, '/data'));
  const totals = page.getByRole('region', { name: 'Totals' });
  // 0.25 to 19.25, and twenty times 1.00.
  await totals.getByText('215.00 EUR').waitFor();
  await totals.getByText('70.00 USD').waitFor();
  await page.getByRole('figure', { name: 'Spend by day, EUR' }).waitFor();
  await page.getByRole('row', { name: /2026-03-01 1\.25/ }).waitFor();
  await expectNoBarriers(page);

  await choose(page, 'Group by', 'By campaign');
  const spring = page.getByRole('row', { name: /Spring sale 215\.00/ });
  await spring.waitFor();
  await page.getByLabel('Campaign name or id').fill('über');
  await spring.waitFor({ state: 'detached' });
  await totals.getByText('215.00 EUR').waitFor({ state: 'detached' });
  await page.getByRole('row', { name: /Überraschung 70\.00/ }).waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Export groups (CSV)' }).click(),
  ]);
  const exported = parse(await readFile(await download.path()), { columns: true }) as Record<
    string,
    string
  >[];
  expect(exported).toMatchObject([{ name: 'Überraschung', currency: 'USD', clicks: '400' }]);
  expect(Number(exported[0]?.spend)).toBe(70);

  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByLabel('First day').fill('2026-03-03');
  await page.getByLabel('Last day').fill('2026-03-03');
  await page.getByRole('row', { name: /Spring sale 3\.25/ }).click();
  const drawer = page.getByRole('dialog', { name: 'Where these figures came from' });
  await drawer.getByRole('link', { name: 'march.csv' }).waitFor();
  await drawer.getByRole('row', { name: /2026-03-03 Spring sale 3\.25 EUR 152/ }).waitFor();
  await expectNoBarriers(page);
  // The third day is on lines 8 to 10.
  await drawer.getByRole('link', { name: 'line 9' }).waitFor();
  await drawer.getByRole('link', { name: 'line 8' }).click();
  const line = page.getByRole('region', { name: 'Line 8' });
  await line.getByText('2.25').waitFor();
  await line.getByText('Phones').waitFor();
  await expectNoBarriers(page);
});

test('a workspace without figures says how they get there', async () => {
  const tenantId = await newTenant(database);
  const { page } = await browser.open();
  await page.goto(await server.loginLink({ tenantId, role: 'admin' }, '/data'));
  await page.getByText('There are no figures yet').waitFor();
  await page.getByRole('link', { name: 'Upload a report' }).waitFor();
  await expectNoBarriers(page);
});
