import { existsSync } from 'node:fs';
import path from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { type PageWatch, watchPage } from './page-watch.ts';

export interface TestBrowser {
  /** A page in a new context without cookies; forbidden behaviour fails the test at its end. */
  open(options?: BrowserContextOptions): Promise<WatchedPage>;
}

export interface WatchedPage {
  page: Page;
  watch: PageWatch;
}

/** Nothing moves: what is half faded in is hard to read, for people and for axe. */
const asUsual = { viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' } as const;

/** How long a page may take on a busy machine. */
const stepLimitMs = 60_000;

/** Debian's Chromium for one test file. */
export function useBrowser(): TestBrowser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });
  return {
    async open(options = {}) {
      if (!browser) throw new Error('The browser is available only after beforeAll has run');
      const context = await browser.newContext({ ...asUsual, ...options });
      context.setDefaultTimeout(stepLimitMs);
      const page = await context.newPage();
      const watch = watchPage(page);
      onTestFinished(async () => {
        await context.close();
        watch.verify();
      });
      return { page, watch };
    },
  };
}

function launchBrowser(): Promise<Browser> {
  // No sandbox: in containers root runs the tests, and Chromium refuses its sandbox to root.
  return chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox', '--disable-gpu'] });
}

function findChromium(): string {
  const found = (process.env.PATH ?? '')
    .split(path.delimiter)
    .map((directory) => path.join(directory, 'chromium'))
    .find((candidate) => existsSync(candidate));
  if (found !== undefined) return found;
  throw new Error(
    'There is no `chromium` on the PATH. Install it (Debian: apt-get install chromium), or leave these tests out ' +
      'with --project "!browser".',
  );
}
