import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { picture } from '../generators/images.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { findBarriers } from './axe.ts';
import { useBrowser } from './browser.ts';
import { useConsoleServer } from './console-server.ts';

const database = useDatabase();
const server = useConsoleServer(database);
const browser = useBrowser();

async function expectNoBarriers(page: Page): Promise<void> {
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor();
    expect([colorScheme, await findBarriers(page)]).toEqual([colorScheme, []]);
  }
}

/** Polled from outside: the page's policy lets nothing be evaluated in it, not even by tests. */
async function untilDrawn(page: Page, place: string): Promise<void> {
  const isDrawn = `document.querySelector(${JSON.stringify(place)})?.naturalWidth > 0`;
  await expect.poll(() => page.evaluate(isDrawn), { timeout: 60_000 }).toBe(true);
}

test('images are small in the grid and large in the drawer, and a file that is not an image shows why', async () => {
  const claims = { tenantId: await newTenant(database), role: 'member', userId: 'mia' } as const;
  const headers = { authorization: `Bearer ${await server.token(claims)}` };
  expect((await fetch(`${server.url}/api/me`, { headers })).status).toBe(200);
  const { page } = await browser.open();
  await page.goto(await server.loginLink(claims, '/items/new'));
  const files = page.getByLabel('File of rows, or images');
  const image = async (name: string, seed: number) => ({
    name,
    mimeType: 'image/png',
    buffer: await picture({ seed, width: 300, height: 200 }).png().toBuffer(),
  });
  const rows = { name: 'rows.csv', mimeType: 'text/csv', buffer: Buffer.from('a\n1\n') };
  await files.setInputFiles([await image('lake.png', 1), rows]);
  await page.getByText('not a mixture').waitFor();
  expect(await page.locator('button[type="submit"]').isDisabled()).toBe(true);
  const broken = { name: 'broken.png', mimeType: 'image/png', buffer: Buffer.from('no image') };
  await files.setInputFiles([await image('lake.png', 1), broken, await image('hill.png', 2)]);
  await page.getByText('lake.png, broken.png, hill.png').waitFor();
  expect(await page.getByRole('radio', { name: /Read images/ }).isChecked()).toBe(true);
  expect(await page.getByRole('radio', { name: /Check/ }).count()).toBe(0);
  await expectNoBarriers(page);
  await page.getByRole('button', { name: 'Send the images' }).click();

  await page.getByRole('heading', { name: 'lake.png and 2 more' }).waitFor();
  await page.getByRole('img', { name: 'Thumbnail of lake.png' }).waitFor();
  await page.getByRole('img', { name: 'Thumbnail of hill.png' }).waitFor();
  await untilDrawn(page, 'img.grid-thumbnail');
  await page.getByRole('row').filter({ hasText: 'broken.png' }).getByText('No thumbnail').waitFor();
  await expectNoBarriers(page);
  await page.getByRole('button', { name: 'Open row 1', exact: true }).click();
  const drawer = page.getByRole('dialog', { name: 'Row 1' });
  await drawer.getByRole('img', { name: 'lake.png' }).waitFor();
  await untilDrawn(page, '.drawer-image img');
  await drawer.getByRole('cell', { name: 'png', exact: true }).waitFor();
  await expectNoBarriers(page);
  const saving = page.waitForEvent('download');
  await drawer.getByRole('link', { name: 'Download original' }).click();
  expect((await saving).suggestedFilename()).toBe('lake.png');

  await page.setViewportSize({ width: 400, height: 800 });
  await page.keyboard.press('Escape');
  await drawer.waitFor({ state: 'detached' });
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
});
