import { beforeAll, expect, test } from 'vitest';
import { useLoginProvider } from '../support/fakes/login-provider.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { findBarriers } from './axe.ts';
import { useBrowser } from './browser.ts';
import { useConsoleServer } from './console-server.ts';

const database = useDatabase();
const provider = useLoginProvider();
const server = useConsoleServer(database, {
  get SLUICE_OIDC_ISSUER() {
    return provider.issuer;
  },
  SLUICE_OIDC_CLIENT_ID: provider.client.id,
  SLUICE_OIDC_CLIENT_SECRET: provider.client.secret,
  SLUICE_OIDC_SCOPES: 'openid profile email groups',
  SLUICE_OIDC_ROLES: 'staff:member',
  SLUICE_OIDC_NAME: 'Example Login',
});
const browser = useBrowser();

beforeAll(() => provider.allowRedirect(`${server.url}/login/oidc/callback`));

test('the login page leads to the provider, and back to the page that was asked for', async () => {
  provider.person = { sub: 'ada', groups: ['staff'] };
  const { page, watch } = await browser.open();
  watch.expect(/401/);
  await page.goto(`${server.url}/jobs?status=failed`);
  const button = page.getByRole('link', { name: 'Sign in with Example Login' });
  await button.waitFor();
  expect(await findBarriers(page)).toEqual([]);
  await button.click();
  await page.getByRole('heading', { name: 'Jobs' }).waitFor();
  expect(page.url()).toBe(`${server.url}/jobs?status=failed`);
});

test('whom the provider lets in without a role is told so on the login page', async () => {
  provider.person = { sub: 'eve', groups: ['visitors'] };
  const { page, watch } = await browser.open();
  watch.expect(/401/);
  await page.goto(`${server.url}/login`);
  await page.getByRole('link', { name: 'Sign in with Example Login' }).click();
  await page.getByText('You have no role here').waitFor();
  await page.getByText('oidc_role_missing').waitFor();
  expect(await findBarriers(page)).toEqual([]);
});
