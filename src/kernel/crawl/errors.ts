import { defineErrors, type ErrorDefinition } from '../../lib/errors.ts';

const tellSite = 'Ask whoever runs the site, or leave this page out with the source’s exclude list.';

/** Why a page of a crawl was not read. They are kept with the page and never stop the crawl's house. */
export const crawlErrors = defineErrors({
  page_unavailable: transient(502, 'The site failed to give a page', 'The next run asks for it again.'),
  page_throttled: transient(503, 'The site asked for fewer requests', 'The next run asks for it again.'),
  page_refused: invalid('The site does not show this page to us', tellSite),
  page_not_found: invalid('There is no such page', 'Correct the address that the crawl starts at.'),
  redirect_loop: invalid('The page redirects in a circle or too often', tellSite),
  redirected_off_host: invalid(
    'The page redirects to another site',
    'A crawl stays on its host. To read the other site, add a source that starts there.',
  ),
  redirected_for_now: transient(
    502,
    'The page redirects to another one for the time being',
    'The next run asks for it again. What was read earlier stays.',
  ),
  robots_forbidden: invalid(
    'The robots.txt of the site forbids the page',
    'Ask whoever runs the site to allow the user agent Sluice, or add the pages as files.',
  ),
  robots_unreachable: transient(
    502,
    'The robots.txt of the site cannot be read',
    'Until it can, nothing may be asked of the site (RFC 9309). The next run tries again.',
  ),
  feed_unreadable: invalid(
    'The feed cannot be read',
    'Check that the address is that of an RSS or Atom feed.',
  ),
});

export type CrawlErrorCode = keyof typeof crawlErrors.definitions;

function transient(status: number, title: string, next: string): ErrorDefinition {
  return { kind: 'transient', status, title, next };
}

function invalid(title: string, next: string): ErrorDefinition {
  return { kind: 'invalid', status: 422, title, next };
}
