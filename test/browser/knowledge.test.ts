import { expect, test } from 'vitest';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { useBrowser } from './browser.ts';
import { useConsoleServer } from './console-server.ts';

const database = useDatabase();
const server = useConsoleServer(database);
const browser = useBrowser();

const file = (name: string, text: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });

test('files are chosen, indexed, searched and shown in place, and a broken file shows its reason', async () => {
  const tenantId = await newTenant(database);
  const { page } = await browser.open();
  await page.goto(await server.loginLink({ tenantId, role: 'admin' }));
  await page.goto(`${server.url}/knowledge/new`);
  await page.getByLabel('Name').fill('House rules');
  await page
    .locator('input[type=file]')
    .setInputFiles([
      file('quiet.md', '# Quiet hours\n\nNobody plays the drums after ten in the evening.\n'),
      file('bins.md', '# Rubbish\n\nPaper is collected on the first Monday of each month.\n'),
      file('broken.pdf', '%PDF-1.7\nthis is not what it says\n'),
    ]);
  await page.getByRole('button', { name: 'Create knowledge base' }).click();
  await page.getByRole('heading', { name: 'House rules' }).waitFor();
  // Sources that are near are looked at without being asked for.
  await page
    .getByRole('status')
    .getByText(/\d new/)
    .waitFor();
  await page.getByRole('button', { name: 'Start the first run' }).click();

  const documents = page.getByRole('table', { name: 'Documents' });
  await documents.getByText('indexed').nth(1).waitFor();
  await documents.getByText('error', { exact: true }).waitFor();
  await page.getByText('3 documents = 2 indexed').waitFor();

  await page.getByLabel('Search this knowledge base').fill('making music at night');
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  const found = page.getByRole('region', { name: 'Passages found' });
  await found.getByText('drums').waitFor();
  expect(new URL(page.url()).searchParams.get('q')).toBe('making music at night');
  await found.getByRole('button', { name: 'Show in place' }).first().click();
  const drawer = page.getByRole('dialog');
  await drawer.getByText('Quiet hours').first().waitFor();
  await page.goto(`${server.url}/search?q=making+music+at+night`);
  const everywhere = page.getByRole('region', { name: 'Passages found' });
  await everywhere.getByText('drums').waitFor();
  const facets = page.getByRole('navigation', { name: 'Narrow the search' });
  await facets.getByRole('button', { name: /House rules/ }).click();
  await everywhere.getByText('drums').waitFor();
  expect(new URL(page.url()).searchParams.get('base')).not.toBeNull();
  await facets.getByRole('button', { name: /markdown/ }).waitFor();
  await everywhere.getByRole('link', { name: 'Quiet hours' }).click();
  await page.getByRole('dialog').getByText('Quiet hours').first().waitFor();
  // A colleague opens the same view from the address.
  const other = await browser.open();
  await other.page.goto(await server.loginLink({ tenantId, role: 'member' }));
  await other.page.goto(page.url());
  await other.page.getByRole('dialog').getByText('Quiet hours').first().waitFor();
});

test('pushed references appear by themselves, are handed over and can be found', async () => {
  const tenantId = await newTenant(database);
  const { page } = await browser.open();
  await page.goto(await server.loginLink({ tenantId, role: 'admin' }));
  await page.goto(`${server.url}/knowledge/new`);
  await page.getByLabel('Name').fill('Help');
  await page.getByRole('button', { name: 'Create empty knowledge base' }).click();
  await page.getByRole('heading', { name: 'Help' }).waitFor();

  await page.goto(`${server.url}/scrapes`);
  await page.getByRole('button', { name: 'New source' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('help-centre');
  await dialog.getByRole('combobox', { name: 'Knowledge base' }).click();
  await page.getByRole('option', { name: 'Help' }).click();
  await dialog.getByRole('button', { name: 'Create source' }).click();
  await page.getByRole('heading', { name: 'help-centre' }).waitFor();
  await page.getByRole('tab', { name: 'Hand-offs' }).click();
  await page.getByText('No hand-off yet').waitFor();

  const answer = await fetch(`${server.url}/api/scraping/help-centre/sync`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await server.token({ tenantId, role: 'service' })}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      references: [
        {
          external_id: 'a',
          url: 'https://help.example.com/a',
          title: 'Gift cards',
          content: 'They never expire.',
        },
      ],
    }),
  });
  expect(answer.status).toBe(200);
  await page.getByRole('table', { name: 'Hand-offs' }).getByText('done', { exact: true }).waitFor();
});
