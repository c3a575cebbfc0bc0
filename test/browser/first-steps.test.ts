import { expect, test } from 'vitest';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { findBarriers } from './axe.ts';
import { useBrowser } from './browser.ts';
import { useConsoleServer } from './console-server.ts';

const database = useDatabase();
const server = useConsoleServer(database);
const browser = useBrowser();

test('the login link opens the overview, and a second use of it opens a page that explains why not', async () => {
  const tenantId = await newTenant(database);
  const link = await server.loginLink({ tenantId });
  const { page } = await browser.open();
  await page.goto(link);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  expect(new URL(page.url()).pathname).toBe('/');

  const other = await browser.open();
  await other.page.goto(link);
  await other.page.getByText('was used before').waitFor();
  expect(new URL(other.page.url()).pathname).toBe('/login');
});

test('a link to a page opens it after the login', async () => {
  const tenantId = await newTenant(database);
  const { page, watch } = await browser.open();
  watch.expect(/401/);
  await page.goto(`${server.url}/jobs?status=failed`);
  const token = page.getByLabel('Token or API key');
  await token.waitFor();
  await token.fill('not a token');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByText('invalid_token').first().waitFor();
  await token.fill(await server.token({ tenantId, role: 'member' }));
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { name: 'Jobs' }).waitFor();
  expect(page.url()).toBe(`${server.url}/jobs?status=failed`);
  const cookies = await page.context().cookies();
  expect(cookies).toMatchObject([{ name: 'sluice_session', httpOnly: true, sameSite: 'Lax' }]);
});

test('no page breaks its content security policy, and axe finds no barrier', async () => {
  const { page } = await browser.open();
  await page.goto(await server.loginLink({ tenantId: await newTenant(database) }));
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  // The styles that the console makes in the browser hold only if they carry the nonce.
  const spacing = 'getComputedStyle(document.documentElement).getPropertyValue("--mantine-spacing-md")';
  expect(await page.evaluate<number>('document.querySelectorAll("style[nonce]").length')).toBeGreaterThan(0);
  expect(await page.evaluate<string>(spacing)).not.toBe('');
  expect(await findBarriers(page)).toEqual([]);
});

test('a page shows that the server is gone, and continues by itself when it is back', async () => {
  const { page, watch } = await browser.open();
  // A server that is about to end says 503, and then nothing.
  watch.expect(
    /ERR_CONNECTION_(REFUSED|RESET|CLOSED)|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_EMPTY_RESPONSE|503/,
  );
  await page.goto(await server.loginLink({ tenantId: await newTenant(database) }));
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await server.stop();
  await page
    .getByText(/offline/i)
    .first()
    .waitFor();
  await server.start();
  await page
    .getByText(/offline/i)
    .first()
    .waitFor({ state: 'hidden' });
});
