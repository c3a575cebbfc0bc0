import { expect, test } from 'vitest';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { useBrowser } from './browser.ts';
import { useConsoleServer } from './console-server.ts';

const database = useDatabase();
const server = useConsoleServer(database);
const browser = useBrowser();

test('the empty overview offers the demo, and opens it as its admin', { timeout: 240_000 }, async () => {
  const { page } = await browser.open({ colorScheme: 'light' });
  await page.goto(await server.loginLink({ tenantId: await newTenant(database), role: 'operator' }));
  const offer = page.getByRole('button', { name: 'Open the demo' });
  await offer.click();
  await offer.waitFor({ state: 'detached', timeout: 120_000 });
  await page.locator('main h1').first().waitFor();
  await page.goto(`${server.url}/uploads`);
  await page.getByText('demo-waits-for-review.csv').waitFor();
  await page.getByText('demo-age-and-gender.csv').waitFor();
  await page.goto(`${server.url}/connectors`);
  await page.getByText('Demo: shop orders').waitFor();
  expect(await page.getByText('Demo: newsletter').count()).toBeGreaterThan(0);
  await page.goto(`${server.url}/`);
  await page
    .getByText(/upload waits for your review/)
    .first()
    .waitFor();
});
