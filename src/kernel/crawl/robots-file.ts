import type { Readable } from 'node:stream';
import type { PoliteRequests, RequestFailure } from './polite-requests.ts';
import { maxRobotsBytes, openRobots, parseRobots, type Robots } from './robots.ts';

/** The user agent that sites name in robots.txt and in robots meta tags. */
export const crawlerName = 'Sluice';

/**
 * The rules of a site as RFC 9309 has them: without a file everything is allowed, and as long as the file cannot be
 * read nothing is.
 */
export async function loadRobots(requests: PoliteRequests, origin: string): Promise<Robots | RequestFailure> {
  const asked = await requests.ask(
    `${origin}/robots.txt`,
    // Not the limit of the text: what comes behind that is not read, but it is no reason to fail either.
    { maxRedirects: 5, maxBytes: Number.MAX_SAFE_INTEGER },
    async ({ status, body }) =>
      status >= 200 && status < 300 ? parseRobots(await readStart(body), crawlerName) : openRobots,
  );
  if (asked.kind === 'ok') return asked.value;
  return asked.code === 'too_many_redirects' ? openRobots : asked;
}

async function readStart(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk as Buffer);
    sizeBytes += (chunk as Buffer).length;
    if (sizeBytes >= maxRobotsBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxRobotsBytes).toString('utf8');
}
