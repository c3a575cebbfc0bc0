import { expect, test } from 'vitest';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { findBarriers } from './axe.ts';
import { useBrowser } from './browser.ts';
import { useConsoleServer } from './console-server.ts';

const database = useDatabase();
const server = useConsoleServer(database, { GLOBAL_PENDING_ENABLED: 'false' });
const browser = useBrowser();

test('the page of all pending rows says when it is switched off and where to look instead', async () => {
  const { page, watch } = await browser.open();
  watch.expect(/status of 404/);
  await page.goto(await server.loginLink({ tenantId: await newTenant(database) }, '/pending'));
  await page.getByText('GLOBAL_PENDING_ENABLED is false').waitFor();
  expect(await findBarriers(page)).toEqual([]);
  await page.getByRole('link', { name: 'Open items' }).click();
  await page.getByRole('heading', { name: 'Items' }).waitFor();
});
