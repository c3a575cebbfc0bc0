import type { Page } from 'playwright-core';

/** Everything that went wrong in a page, visible or not. */
export interface PageWatch {
  readonly problems: readonly string[];
  /** Problems that the test causes itself, such as requests to a server that it stopped. */
  expect(pattern: RegExp): void;
  /** Throws when there was a problem that nobody expected. */
  verify(): void;
}

/** From here on: messages of level error, uncaught errors, failed requests, breaches of the policy. */
export function watchPage(page: Page): PageWatch {
  const problems: string[] = [];
  const expected: RegExp[] = [];
  // A breach of the content security policy is a message of level error as well.
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(`console: ${message.text()} (${message.location().url})`);
  });
  page.on('pageerror', (error) => problems.push(`error: ${error.stack ?? error.message}`));
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? 'no reason';
    // The page itself gave these up: it left, or a newer question made them needless.
    if (reason !== 'net::ERR_ABORTED')
      problems.push(`request: ${request.method()} ${request.url()}: ${reason}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 500) problems.push(`answer: ${response.status()} of ${response.url()}`);
  });
  return {
    problems,
    expect: (pattern) => void expected.push(pattern),
    verify() {
      const unexpected = problems.filter((problem) => !expected.some((pattern) => pattern.test(problem)));
      if (unexpected.length > 0) {
        throw new Error(`The page had ${unexpected.length} problems:\n${unexpected.join('\n')}`);
      }
    },
  };
}
