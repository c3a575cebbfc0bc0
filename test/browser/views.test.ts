import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { findBarriers } from './axe.ts';
import { useBrowser } from './browser.ts';
import { useConsoleServer } from './console-server.ts';
import { viewsOf } from './routes.ts';
import { type Seeded, seed } from './seed.ts';

const database = useDatabase();
const server = useConsoleServer(database);
const browser = useBrowser();
let seeded: Seeded;

beforeAll(async () => {
  seeded = await seed(server, await newTenant(database));
}, 300_000);
afterAll(() => seeded?.close());

test('the overview counts everything that needs a person', async () => {
  const headers = { authorization: `Bearer ${await server.token({ tenantId: seeded.tenantId })}` };
  const answer = await fetch(`${server.url}/api/stats/overview`, { headers });
  const overview = (await answer.json()) as {
    needs_you: { kind: string; count: number; subject_id: string | null }[];
    last_day: { rows: number; succeeded: number };
    now: { workers_alive: number; running: number };
  };
  const needed = new Map(overview.needs_you.map((one) => [one.kind, one]));
  expect(needed.get('uploads_in_review')).toMatchObject({ count: 1, subject_id: seeded.heldUpload });
  expect(needed.get('uploads_failed')).toMatchObject({ count: 1, subject_id: seeded.badUpload });
  expect(needed.get('connectors_failing')).toMatchObject({ count: 1, subject_id: 'ledger' });
  expect(needed.get('dead_letters')?.count).toBeGreaterThanOrEqual(1);
  expect(overview.now).toMatchObject({ workers_alive: 1 });
  expect(overview.now.running).toBeGreaterThanOrEqual(1);
  // 240 items, 400 report lines, 42 records and the chunks of a handbook.
  expect(overview.last_day.rows).toBeGreaterThanOrEqual(240 + 400 + 42 + 1);
});

test('every view opens from its address alone, with a heading and without a barrier', {
  timeout: 300_000,
}, async () => {
  const { page } = await browser.open({ colorScheme: 'light' });
  await page.goto(await server.loginLink({ tenantId: seeded.tenantId, role: 'operator' }));
  const barriers: Record<string, string[]> = {};
  for (const { name, path } of viewsOf(seeded)) {
    await page.emulateMedia({ colorScheme: 'light' });
    await open(page, path);
    expect([name, await page.locator('main h1').first().innerText()]).not.toEqual([name, '']);
    const found = await findBarriers(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.locator('html[data-mantine-color-scheme="dark"]').waitFor({ state: 'attached' });
    found.push(...(await findBarriers(page, 'colours')));
    if (found.length > 0) barriers[name] = found;
  }
  expect(barriers).toEqual({});
});

test('no view is wider than a narrow window', { timeout: 240_000 }, async () => {
  const { page } = await browser.open({ viewport: { width: 400, height: 800 } });
  await page.goto(await server.loginLink({ tenantId: seeded.tenantId, role: 'operator' }));
  const wide: string[] = [];
  for (const { name, path } of viewsOf(seeded)) {
    await open(page, path);
    const width = await page.evaluate<number>('document.documentElement.scrollWidth');
    if (width > 400) wide.push(`${name} is ${width} px wide`);
  }
  expect(wide).toEqual([]);
});

test('the log of events is listed, and opens any event by its address', {
  timeout: 120_000,
}, async () => {
  const { page } = await browser.open({ colorScheme: 'light' });
  await page.goto(await server.loginLink({ tenantId: seeded.tenantId, role: 'operator' }));
  await open(page, '/events');
  const rows = page.getByRole('table', { name: 'Events' }).locator('tbody tr');
  await expect.poll(() => rows.count()).toBeGreaterThanOrEqual(20);
  const headers = { authorization: `Bearer ${await server.token({ tenantId: seeded.tenantId })}` };
  const answer = await fetch(`${server.url}/api/events?limit=1`, { headers });
  const [oldest] = ((await answer.json()) as { data: { id: string; type: string }[] }).data;
  await open(page, `/events?event=${oldest?.id}`);
  await page
    .getByRole('dialog', { name: oldest?.type ?? '' })
    .getByText(oldest?.id ?? '')
    .first()
    .waitFor();
});

async function open(page: Page, path: string): Promise<void> {
  await page.goto(`${server.url}${path}`);
  await page.locator('main h1').first().waitFor();
  await page.locator('[aria-busy="true"], .mantine-Skeleton-root').first().waitFor({ state: 'detached' });
}
