import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

interface AxeResults {
  violations: { id: string; help: string; nodes: { html: string; failureSummary?: string }[] }[];
}

/** `colours`: all that can change when a page that was looked at already turns dark. */
const chosenRules = {
  everything: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] },
  colours: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] },
};

/**
 * What breaks WCAG 2.2 AA on the page as it is now, one sentence per element. axe goes in over the debugger's
 * connection and not as a script element, so the page's policy stays as it is.
 */
export async function findBarriers(
  page: Page,
  what: keyof typeof chosenRules = 'everything',
): Promise<string[]> {
  // What the top bar happens to cover depends on how far the page was scrolled.
  await page.evaluate('scrollTo(0, 0)');
  await page.evaluate(await axeSource());
  const { violations } = await page.evaluate(
    (runOnly) =>
      (globalThis as unknown as { axe: { run(options: object): Promise<AxeResults> } }).axe.run({ runOnly }),
    chosenRules[what],
  );
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html} ${failureSummary ?? ''}`.trim()),
  );
}

let source: Promise<string> | undefined;

function axeSource(): Promise<string> {
  source ??= readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  return source;
}
