import { mkdirSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { AdAccount } from '../support/fakes/ad-account.ts';
import { startFakeTiktok, tiktokToken } from '../support/fakes/fake-tiktok-report.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { findBarriers } from './axe.ts';
import { useBrowser } from './browser.ts';
import { useConsoleServer } from './console-server.ts';

const database = useDatabase();
const server = useConsoleServer(database, { PULL_POLL_SECONDS: '0.5' });
const browser = useBrowser();

async function newTenantWithWorkspace(): Promise<string> {
  const tenantId = await newTenant(database, 'enterprise');
  await send(tenantId, 'POST', '/api/workspaces', { name: 'Main' });
  return tenantId;
}

async function send(tenantId: string, method: string, route: string, body: object): Promise<void> {
  const reply = await fetch(`${server.url}${route}`, {
    method,
    headers: {
      authorization: `Bearer ${await server.token({ tenantId })}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify(body),
  });
  expect(reply.status).toBeLessThan(300);
}

async function expectNoBarriers(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor();
    await picture(page, `${name}-${colorScheme}`);
    expect([colorScheme, await findBarriers(page)]).toEqual([colorScheme, []]);
  }
}

async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env.SLUICE_SCREENSHOTS;
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: `${folder}/${name}.png` });
}

test('a source is created, pulled, followed to its upload, and changed', async () => {
  const days = [3, 2, 1].map((ago) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10));
  const fake = await startFakeTiktok(AdAccount.over(days));
  const tenantId = await newTenantWithWorkspace();
  await send(tenantId, 'PUT', '/api/secrets/tiktok', { value: tiktokToken, hosts: [fake.host] });
  const { page, watch } = await browser.open();
  watch.expect(/422 \(Unprocessable Entity\)/);
  await page.goto(await server.loginLink({ tenantId, role: 'admin' }, '/uploads'));
  await page.getByRole('link', { name: 'Sources' }).click();
  await page.getByText('There are no sources.').waitFor();
  await page.getByRole('button', { name: 'New source' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: false }).first().fill('Shop on TikTok');
  await dialog.getByRole('combobox', { name: 'Pull from' }).click();
  await page.getByRole('option', { name: /TikTok/ }).click();
  await dialog.getByLabel('Advertiser id').fill('6900000000000000000');
  await dialog.getByLabel('Access token').fill('tiktok');
  await expectNoBarriers(page, 'source-dialog');
  // The form has no field for another address: the secret is bound to the fake, so the platform's own is refused.
  await dialog.getByRole('button', { name: 'Create source' }).click();
  await dialog
    .getByText(/may be sent to/)
    .first()
    .waitFor();
  await page.keyboard.press('Escape');

  const workspaces = await fetch(`${server.url}/api/workspaces`, {
    headers: { authorization: `Bearer ${await server.token({ tenantId })}` },
  });
  const { data } = (await workspaces.json()) as { data: { workspace_id: string }[] };
  await send(tenantId, 'POST', '/api/uploads/sources', {
    name: 'Shop on TikTok',
    workspace_id: data[0]?.workspace_id,
    place: {
      ...{ kind: 'tiktok', advertiser_id: '6900000000000000000', access_token_secret: 'tiktok' },
      endpoint: fake.url,
    },
    restate_days: 3,
  });
  await page.reload();
  await page.getByRole('row', { name: /Shop on TikTok/ }).click();
  const panel = page.getByRole('region', { name: 'Shop on TikTok' });
  await panel.getByRole('button', { name: 'Pull the last 3 days' }).click();
  await panel.getByText(/one upload/).waitFor();
  await expectNoBarriers(page, 'sources');
  await panel.getByLabel('First day').fill('2026-01-05');
  await panel.getByLabel('Last day').fill('2026-01-01');
  await panel.getByText('It is before the first day').waitFor();
  await panel.getByRole('button', { name: 'Change' }).click();
  await dialog.getByLabel('Name', { exact: false }).first().fill('Shop');
  await dialog.getByRole('button', { name: 'Save changes' }).click();
  await page
    .getByRole('region', { name: 'Shop', exact: true })
    .getByRole('link', { name: 'Open the upload' })
    .click();
  await page.getByText('The sums agree').waitFor();
  await fake.close();
});

test('a report that names no days asks for its range in the review, and is stored as a period', async () => {
  const tenantId = await newTenantWithWorkspace();
  const { page } = await browser.open();
  await page.goto(await server.loginLink({ tenantId, role: 'member', userId: 'mia' }, '/uploads/new'));
  const content =
    'Campaign name,Campaign ID,Impressions,Amount spent (USD)\nSpring,11,10,1.50\nAutumn,12,20,2.25\n';
  const file = { name: 'all-time.csv', mimeType: 'text/csv', buffer: Buffer.from(content) };
  await page.getByLabel('Report file').setInputFiles(file);
  await page.getByRole('button', { name: 'Upload and review' }).click();
  await page.getByText('Say which days this report is about.').waitFor();
  await page.getByLabel('First day').fill('2026-03-01');
  await page.getByLabel('Last day').fill('2026-03-31');
  await expectNoBarriers(page, 'range-entry');
  await page.getByRole('button', { name: 'Check with these columns' }).click();
  await page.getByText('its figures are those of 2026-03-01 to 2026-03-31').waitFor();
  await page.getByRole('button', { name: 'Promote 2 rows' }).click();
  await page.locator('.counts').getByText('2 rows = 2 promoted').waitFor();
  const stored = await database.owner(
    `select date_from::text, date_to::text, sum(spend)::float8 as spend
       from period_metrics where tenant_id = $1 group by 1, 2`,
    [tenantId],
  );
  expect(stored).toEqual([{ date_from: '2026-03-01', date_to: '2026-03-31', spend: 3.75 }]);
});
