import { afterAll, beforeAll, expect, test } from 'vitest';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { useBrowser } from './browser.ts';
import { useConsoleServer } from './console-server.ts';
import { type Seeded, seed } from './seed.ts';

const database = useDatabase();
const server = useConsoleServer(database);
const browser = useBrowser();
let seeded: Seeded;

beforeAll(async () => {
  seeded = await seed(server, await newTenant(database));
}, 300_000);
afterAll(() => seeded?.close());

test('the search box finds things by name and by id, and offers actions', { timeout: 120_000 }, async () => {
  const { page } = await browser.open({ colorScheme: 'light' });
  await page.goto(await server.loginLink({ tenantId: seeded.tenantId, role: 'operator' }));
  await page.locator('main h1').first().waitFor();
  const ask = async (words: string) => {
    await page.keyboard.press('/');
    await page.getByRole('combobox', { name: 'Go to' }).fill(words);
  };
  const choice = (name: RegExp) => page.getByRole('option', { name });

  await ask('handbook');
  await choice(/handbook.*knowledge base/i)
    .first()
    .click();
  await page.waitForURL(/\/knowledge\//);

  await ask(seeded.heldUpload);
  await choice(/\.csv\s*upload/i)
    .first()
    .waitFor();
  await choice(/events about it/i).waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL(new RegExp(`/uploads/${seeded.heldUpload}`));

  await ask('dark mode');
  await choice(/switch to dark/i).click();
  await page.locator('html[data-mantine-color-scheme="dark"]').waitFor({ state: 'attached' });

  await ask('requeue');
  await choice(/requeue .*dead letter/i)
    .first()
    .click();
  await page.waitForURL(/\/dead-letters/);

  await ask('zzz-nothing-like-this');
  await page.getByText('Nothing that you may see has this name or id.').waitFor();
  expect(await page.getByRole('option').count()).toBe(0);
});
