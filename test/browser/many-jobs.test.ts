import { expect, test } from 'vitest';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { useBrowser } from './browser.ts';
import { useConsoleServer } from './console-server.ts';

const database = useDatabase();
const server = useConsoleServer(database);
const browser = useBrowser();
const jobs = 100_000;
const pages = 20;

test('a list of 100,000 jobs loads page by page, and the page stays small', async () => {
  const tenantId = await newTenant(database);
  await database.owner(
    `insert into ingestion_jobs (tenant_id, job_id, pipeline, subject_id, status, created_by, correlation_id,
                                 started_at, finished_at, counters)
     select $1, gen_random_uuid(), 'uploads', 'report ' || n, 'success', 'ada', 'many', now(), now(), '{}'
       from generate_series(1, $2) n`,
    [tenantId, jobs],
  );
  const { page } = await browser.open();
  await page.goto(await server.loginLink({ tenantId, role: 'admin' }));
  await page.goto(`${server.url}/jobs`);
  const footer = page.locator('.more-rows');
  await footer.getByText('50 jobs shown').waitFor();
  await page.evaluate(watchFrames);
  const shownJobs = async () => Number((await footer.innerText()).replaceAll(',', '').match(/^\d+/)?.[0]);
  for (let before = await shownJobs(); before < pages * 50; before = await shownJobs()) {
    await page.mouse.move(640, 500);
    await page.mouse.wheel(0, 100_000);
    await eventually(async () => (await shownJobs()) > before, `more than ${before} jobs are shown`);
  }
  // Rows out of view are not in the page.
  expect(await page.locator('.list tbody tr').count()).toBeLessThan(200);
  await page
    .getByText(/10,000\+|more than 10,000/i)
    .first()
    .waitFor();
  const frames = (await page.evaluate<number[]>('frames')).sort((a, b) => a - b);
  const at = (share: number) => (frames[Math.floor(frames.length * share)] ?? 0).toFixed(1);
  console.log(`${pages} pages of 50 jobs: ${frames.length} frames, p50 ${at(0.5)} ms, p95 ${at(0.95)} ms`);
});

const watchFrames = `
  globalThis.frames = [];
  let last = performance.now();
  const note = (now) => {
    globalThis.frames.push(now - last);
    last = now;
    requestAnimationFrame(note);
  };
  requestAnimationFrame(note);
`;
