import { defineErrors, invalid, transient } from '../../lib/errors.ts';

const tellSite = 'Ask the operator of the site, or exclude this page with the source’s exclude list.';

/** Why a crawl could not read a page. The reason is stored with the page; it does not stop a run. */
export const crawlErrors = defineErrors({
  page_unavailable: transient('The site failed to serve a page', 'The next run requests it again.', 502),
  page_throttled: transient('The site asked for fewer requests', 'The next run requests it again.'),
  page_refused: invalid('The site refuses to serve this page', tellSite),
  page_not_found: invalid('There is no such page', 'Correct the address at which the crawl starts.'),
  redirect_loop: invalid('The page redirects in a circle or too often', tellSite),
  redirected_off_host: invalid(
    'The page redirects to another site',
    'A crawl stays on its host. To read the other site, add a source that starts there.',
  ),
  redirected_for_now: transient(
    'The page temporarily redirects to another one',
    'The next run requests it again. What was read earlier stays.',
    502,
  ),
  robots_forbidden: invalid(
    'The robots.txt of the site forbids the page',
    'Ask the operator of the site to allow the user agent Sluice, or add the pages as files.',
  ),
  robots_unreachable: transient(
    'The robots.txt of the site cannot be read',
    'Until it can, no page of the site may be requested (RFC 9309). The next run tries again.',
    502,
  ),
  feed_unreadable: invalid(
    'The feed cannot be read',
    'Check that the address points to an RSS or Atom feed.',
  ),
});

export type CrawlErrorCode = keyof typeof crawlErrors.definitions;
