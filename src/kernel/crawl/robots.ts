import type { Readable } from 'node:stream';
import { normaliseEncoding } from './page-url.ts';
import type { PoliteRequests, RequestFailure } from './polite-requests.ts';

/** What robots.txt says to this crawler (RFC 9309). */
export interface Robots {
  allows(url: URL): boolean;
  /** Not part of the standard, but used by sites; null if not set. */
  crawlDelayMs: number | null;
  /** As written in the file. */
  sitemaps: string[];
  /** How many rules each page is checked against. */
  ruleCount: number;
  /** All rules as one text: if it changes, pages may be allowed now that were not. */
  rulesText: string;
}

const maxRobotsBytes = 500 * 1024;
const maxSitemaps = 50;

export const openRobots: Robots = {
  allows: () => true,
  crawlDelayMs: null,
  sitemaps: [],
  ruleCount: 0,
  rulesText: '',
};

/** `product` is the crawler's name in `User-agent` lines, without a version. */
export function parseRobots(text: string, product: string): Robots {
  const { groups, sitemaps } = readGroups(text);
  const group = groups.get(product.toLowerCase()) ?? groups.get('*') ?? newGroup();
  // The longest pattern wins, and among equally long ones the one that allows.
  const rules = group.rules.sort((a, b) => b.length - a.length || Number(b.isAllowed) - Number(a.isAllowed));
  return {
    allows(url) {
      if (url.pathname === '/robots.txt') return true;
      const path = escapeLiterals(normaliseEncoding(url.pathname + url.search));
      return rules.find((rule) => matches(rule, path))?.isAllowed ?? true;
    },
    crawlDelayMs: group.crawlDelayMs,
    sitemaps,
    ruleCount: rules.length,
    rulesText: rules.map(({ isAllowed, text: pattern }) => `${isAllowed ? '+' : '-'}${pattern}`).join('\n'),
  };
}

interface Rule {
  isAllowed: boolean;
  text: string;
  length: number;
  /** Between the stars. */
  pieces: string[];
  isAnchored: boolean;
}

interface Group {
  rules: Rule[];
  crawlDelayMs: number | null;
}

function newGroup(): Group {
  return { rules: [], crawlDelayMs: null };
}

/** Groups with the same name are one group, wherever they are in the file. */
function readGroups(text: string) {
  const groups = new Map<string, Group>();
  const sitemaps: string[] = [];
  let current: Group[] = [];
  let isNaming = false;
  for (const line of text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/)) {
    const { key, value } = readLine(line);
    if (key === 'sitemap' && value !== '' && sitemaps.length < maxSitemaps) sitemaps.push(value);
    if (key === 'user-agent') {
      if (!isNaming) current = [];
      isNaming = true;
      current.push(groupOf(groups, value));
    } else if (key === 'allow' || key === 'disallow') {
      isNaming = false;
      const rule = toRule(value, key === 'allow');
      if (rule !== null) for (const group of current) group.rules.push(rule);
    } else if (key === 'crawl-delay') {
      isNaming = false;
      const seconds = Number(value);
      if (value !== '' && seconds >= 0) for (const group of current) group.crawlDelayMs = seconds * 1000;
    }
  }
  return { groups, sitemaps };
}

function readLine(line: string): { key: string; value: string } {
  const said = line.split('#', 1)[0] ?? '';
  const colon = said.indexOf(':');
  if (colon === -1) return { key: '', value: '' };
  return { key: said.slice(0, colon).trim().toLowerCase(), value: said.slice(colon + 1).trim() };
}

function groupOf(groups: Map<string, Group>, userAgent: string): Group {
  const name = userAgent === '*' ? '*' : (/^[a-z_-]+/i.exec(userAgent)?.[0] ?? '').toLowerCase();
  const group = groups.get(name) ?? newGroup();
  groups.set(name, group);
  return group;
}

/** Null for an empty pattern: "Disallow:" forbids nothing. */
function toRule(pattern: string, isAllowed: boolean): Rule | null {
  if (pattern === '') return null;
  const isAnchored = pattern.endsWith('$');
  const text = normaliseEncoding(encodeUnicode(isAnchored ? pattern.slice(0, -1) : pattern));
  const pieces = text.split('*').map((piece) => piece.replaceAll('$', '%24'));
  return { isAllowed, text: pattern, length: pattern.length, pieces, isAnchored };
}

function encodeUnicode(pattern: string): string {
  return pattern.replace(/[^\x21-\x7e]+/g, (text) => percentEncode(text));
}

/** From bytes, because encodeURIComponent throws at a broken surrogate pair. */
function percentEncode(text: string): string {
  return Buffer.from(text)
    .toString('hex')
    .replace(/../g, (byte) => `%${byte.toUpperCase()}`);
}

/** Escapes stars and dollars of the address, which are not wildcards. */
function escapeLiterals(path: string): string {
  return path.replaceAll('*', '%2A').replaceAll('$', '%24');
}

/** Matches each piece at its first place, so no pattern takes longer than pattern length times path length. */
function matches({ pieces, isAnchored }: Rule, path: string): boolean {
  const [first = '', ...others] = pieces;
  if (!path.startsWith(first)) return false;
  let at = first.length;
  const last = isAnchored ? others.pop() : undefined;
  for (const piece of others) {
    const found = path.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  if (!isAnchored) return true;
  return last === undefined ? path.length === at : path.length - last.length >= at && path.endsWith(last);
}

/** The user agent that sites name in robots.txt and in robots meta tags. */
export const crawlerName = 'Sluice';

/**
 * Loads the rules of a site as RFC 9309 says: without a file everything is allowed, and while the file cannot be read
 * nothing is.
 */
export async function loadRobots(requests: PoliteRequests, origin: string): Promise<Robots | RequestFailure> {
  const asked = await requests.ask(
    `${origin}/robots.txt`,
    // Not `maxRobotsBytes`: a longer file is read up to that limit, and is not a failure.
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
