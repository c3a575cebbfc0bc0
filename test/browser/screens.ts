import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, test } from 'vitest';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { useBrowser } from './browser.ts';
import { useConsoleServer } from './console-server.ts';
import { viewsOf } from './routes.ts';
import { type Seeded, seed } from './seed.ts';

// Not a test: it takes screenshots with the tests' own set-up, and is started by `npm run screens`.
const directory = path.join(import.meta.dirname, '../../docs/console');
const chosen = (process.env.SLUICE_SCREENS ?? '').split(',').filter((name) => name !== '');
const database = useDatabase();
const server = useConsoleServer(database);
const browser = useBrowser();
let seeded: Seeded;

beforeAll(async () => {
  await mkdir(directory, { recursive: true });
  seeded = await seed(server, await newTenant(database));
}, 300_000);
afterAll(() => seeded?.close());

const sizes = [
  { width: 1280, height: 800 },
  { width: 400, height: 800 },
];

test.each(['light', 'dark'] as const)(
  'every view is drawn in %s',
  { timeout: 600_000 },
  async (colorScheme) => {
    for (const viewport of sizes) {
      const { page } = await browser.open({ colorScheme, viewport });
      await page.goto(await server.loginLink({ tenantId: seeded.tenantId, role: 'operator' }));
      for (const { name, path: address } of viewsOf(seeded)) {
        if (chosen.length > 0 && !chosen.includes(name)) continue;
        await page.goto(`${server.url}${address}`);
        await page.locator('main h1, main h2').first().waitFor();
        // Until nothing is being asked for: the stream of events stays open, so the network is never idle.
        await page
          .locator('[aria-busy="true"], .mantine-Skeleton-root')
          .first()
          .waitFor({ state: 'detached' });
        await page.screenshot({ path: path.join(directory, `${name}-${viewport.width}-${colorScheme}.png`) });
      }
    }
  },
);
