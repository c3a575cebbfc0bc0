import { afterAll, beforeAll, expect, test } from 'vitest';
import { newTenant, useDatabase } from '../database.ts';
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

test('what was made needs somebody where it should: the overview counts it', async () => {
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

test('every view opens from its address alone, with a heading and without a fault', {
  timeout: 240_000,
}, async () => {
  const { page } = await browser.open();
  await page.goto(await server.loginLink({ tenantId: seeded.tenantId, role: 'operator' }));
  for (const { name, path } of viewsOf(seeded)) {
    await page.goto(`${server.url}${path}`);
    const heading = page.locator('main h1, main h2').first();
    await heading.waitFor();
    expect([name, await heading.innerText()]).not.toEqual([name, '']);
  }
});
