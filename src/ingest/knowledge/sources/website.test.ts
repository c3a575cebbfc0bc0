import { afterAll, describe, expect, test } from 'vitest';
import { guardedFetch } from '../../../../test/support/fakes/local-site.ts';
import {
  manualPages,
  robotsOf,
  type SitePage,
  serveWebSite,
  type WebSite,
} from '../../../../test/support/fakes/site.ts';
import type { FrontierPage } from '../../../kernel/crawl/types.ts';
import { closeDocumentReader } from '../formats/read-document.ts';
import type { DocumentBatch, KnownDocument, LoadContext, LoadedDocument } from './source.ts';
import { type WebsiteDeps, websiteSettings, websiteSource } from './website.ts';

afterAll(() => closeDocumentReader());

/** What a run keeps of its batches, as the house does it. */
interface Run {
  batches: DocumentBatch[];
  documents: LoadedDocument[];
  /** `kind /path`, in order. */
  seen: string[];
  end: DocumentBatch['end'];
  context: Pick<LoadContext, 'cursor' | 'frontier'>;
}

interface RunOptions {
  settings?: Record<string, unknown>;
  deps?: Partial<WebsiteDeps>;
  known?: Map<string, KnownDocument>;
  from?: Run;
  maxBatches?: number;
}

async function load(site: WebSite, options: RunOptions = {}): Promise<Run> {
  const { known = new Map(), from, maxBatches = 1_000 } = options;
  const settings = websiteSettings.parse({ url: `${site.url}/`, ...options.settings });
  const source = websiteSource(settings, {
    fetch: guardedFetch({ blockPrivateAddresses: false }),
    bounds: { delayMs: 0, retryDelaysMs: [1] },
    ...options.deps,
  });
  const frontier: FrontierPage[] = from?.context.frontier.map((page) => ({ ...page })) ?? [];
  const run: Run = {
    batches: [],
    documents: [],
    seen: [],
    end: undefined,
    context: { cursor: from?.context.cursor ?? null, frontier },
  };
  const context: LoadContext = {
    cursor: run.context.cursor,
    frontier: frontier.map((page) => ({ ...page })),
    findKnown: async (uris) => new Map([...known].filter(([uri]) => uris.includes(uri))),
    listKnown: async ({ after, limit }) =>
      [...known.values()]
        .filter(({ uri }) => after === null || uri > after)
        .sort((a, b) => (a.uri < b.uri ? -1 : 1))
        .slice(0, limit),
    wasComplete: known.size > 0,
    signal: new AbortController().signal,
  };
  for await (const batch of source.batches(context)) {
    keep(run, frontier, batch);
    if (run.batches.length >= maxBatches) break;
  }
  run.seen = run.documents.map(({ kind, uri }) => `${kind} ${uri.replace(site.url, '')}`);
  return run;
}

function keep(run: Run, frontier: FrontierPage[], batch: DocumentBatch): void {
  run.batches.push(batch);
  run.documents.push(...batch.documents);
  // As it would come back from the database.
  run.context.cursor = JSON.parse(JSON.stringify(batch.cursor));
  run.end = batch.end;
  for (const page of batch.frontier?.found ?? []) frontier.push({ ...page, isVisited: false });
  for (const page of frontier) if (batch.frontier?.visited.includes(page.url)) page.isVisited = true;
}

function remember({ documents }: Run): Map<string, KnownDocument> {
  const known = new Map<string, KnownDocument>();
  for (const document of documents) {
    const { uri, kind } = document;
    if (kind === 'error') known.set(uri, { uri, contentHash: null, etag: null, lastModified: null });
    if (kind !== 'text') continue;
    const { contentHash, etag = null, lastModified = null } = document;
    known.set(uri, { uri, contentHash, etag, lastModified });
  }
  return known;
}

describe('a website', () => {
  test('becomes documents: main text, titles, text files, and no forbidden or unwanted page', async () => {
    const site = await serveWebSite(manualPages);
    const run = await load(site);
    expect(run.seen.sort()).toEqual([
      'error /circle',
      'text /',
      'text /motor',
      'text /notes.txt',
      'text /pump',
      'text /spare-parts',
      'text /valve',
    ]);
    expect(run.end).toMatchObject({ isComplete: true });
    const pump = run.documents.find(({ uri }) => uri === `${site.url}/pump`);
    expect(pump).toMatchObject({ title: 'Pump', contentHash: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(pump?.kind === 'text' && pump.text).toContain('The pump lifts water over the gate.');
    expect(run.documents.find(({ kind }) => kind === 'error')).toMatchObject({ code: 'redirect_loop' });
    expect(site.asked).not.toContain('/private/keys');
    expect(site.asked).not.toContain('/photo.png');
  });

  test('a website that has not changed is not read again, and a changed page alone is new text', async () => {
    const site = await serveWebSite(manualPages);
    const known = remember(await load(site));
    site.forgetRequests();
    const again = await load(site, { known });
    expect(again.seen.filter((seen) => !seen.startsWith('unchanged')).sort()).toEqual(['error /circle']);
    expect(again.end?.isComplete).toBe(true);
    const sent = site.requests.filter(({ status, path }) => status === 200 && known.has(site.url + path));
    // It has neither an ETag nor a date, so it has to be read to be compared.
    expect(sent.map(({ path }) => path)).toEqual(['/notes.txt']);

    site.pages.set('/pump', {
      title: 'Pump',
      text: 'The pump was replaced by a siphon that needs no oil at all.',
      etag: '"2"',
    });
    const changed = await load(site, { known });
    expect(changed.seen.filter((seen) => seen.startsWith('text'))).toEqual(['text /pump']);
  });

  test('reports a page that is gone, but not one that never was a document', async () => {
    const site = await serveWebSite(manualPages);
    const known = remember(await load(site));
    site.pages.delete('/valve');
    const run = await load(site, { known });
    expect(run.seen).toContain('gone /valve');
    expect(run.seen).not.toContain('gone /missing');
    expect(run.end?.isComplete).toBe(true);
  });

  test('a website whose start is forbidden becomes an error document, and no page is requested', async () => {
    const site = await serveWebSite({
      ...manualPages(''),
      '/robots.txt': robotsOf('User-agent: *', 'Disallow: /'),
    });
    const run = await load(site);
    expect(run.documents).toEqual([
      expect.objectContaining({ kind: 'error', uri: `${site.url}/`, code: 'robots_forbidden' }),
    ]);
    expect(run.end).toMatchObject({ isComplete: false });
    expect(site.asked).not.toContain('/');
  });

  test('with a page that fails is not complete, and the page is an error with its reason', async () => {
    const site = await serveWebSite({
      ...manualPages(''),
      '/robots.txt': robotsOf(),
      '/motor': { status: 500 },
    });
    const run = await load(site);
    expect(run.documents).toContainEqual(
      expect.objectContaining({ kind: 'error', uri: `${site.url}/motor`, code: 'page_unavailable' }),
    );
    expect(run.end).toMatchObject({ isComplete: false, reason: expect.stringContaining('500') });
  });

  test('keeps a page that is forbidden now, and loses a page that asks not to be indexed', async () => {
    const site = await serveWebSite(manualPages);
    const known = remember(await load(site));
    site.pages.set('/robots.txt', robotsOf('User-agent: *', 'Disallow: /pump'));
    site.pages.set('/motor', { headers: { 'x-robots-tag': 'noindex' } });
    const run = await load(site, { known });
    expect(run.documents).toContainEqual(
      expect.objectContaining({ kind: 'error', uri: `${site.url}/pump`, code: 'robots_forbidden' }),
    );
    expect(run.seen).toContain('gone /motor');
  });

  test('can stop after any batch, without requesting stored pages again', async () => {
    const pages: Record<string, SitePage> = {
      '/': { links: Array.from({ length: 40 }, (_, at) => `/p${at}`) },
    };
    for (let at = 0; at < 40; at += 1) pages[`/p${at}`] = { title: `Page ${at}`, links: [`/q${at}`] };
    for (let at = 0; at < 40; at += 1) pages[`/q${at}`] = { title: `Leaf ${at}` };
    const site = await serveWebSite(pages);
    const whole = await load(site);
    expect(whole.seen).toHaveLength(81);
    expect(whole.batches.every(({ documents }) => documents.length <= 16)).toBe(true);
    for (const maxBatches of [1, 2, 4]) {
      const first = await load(site, { maxBatches });
      site.forgetRequests();
      const second = await load(site, { from: first });
      expect([...first.seen, ...second.seen]).toEqual(whole.seen);
      for (const { uri } of first.documents) expect(site.countOf(new URL(uri).pathname), uri).toBe(0);
      expect(second.end?.isComplete).toBe(true);
    }
  });

  test('is read only as far as its settings say', async () => {
    const site = await serveWebSite(manualPages);
    const few = await load(site, { settings: { max_pages: 3, sitemap: false } });
    expect(few.seen).toHaveLength(3);
    expect(few.end?.isComplete).toBe(false);
    expect(site.asked).not.toContain('/sitemap.xml');
    const part = await load(site, { settings: { include: ['pump', '/valve'], exclude: ['/valve'] } });
    expect(part.seen).toEqual(['text /pump']);
    expect((await load(site, { settings: { max_depth: 0, sitemap: false } })).seen).toEqual(['text /']);
  });

  test('on a private address is refused without a request', async () => {
    const site = await serveWebSite(manualPages);
    const run = await load(site, { deps: { fetch: guardedFetch() } });
    expect(run.documents).toMatchObject([{ kind: 'error', code: 'address_blocked' }]);
    expect(run.end?.isComplete).toBe(false);
    expect(site.asked).toEqual([]);
  });

  test('with dirty and empty pages gives clean text, and says which page was empty', async () => {
    const site = await serveWebSite({
      '/': { links: ['/empty', '/dirty', '/cut'] },
      '/empty': { body: '<!doctype html><title>Nothing</title>' },
      '/dirty': {
        type: 'text/plain',
        body: Buffer.from('A \0 stray zero byte, and text that is long enough.'),
      },
      '/cut': { body: Buffer.from('%PDF-1.7 broken'), type: 'application/pdf' },
    });
    const run = await load(site, { settings: { sitemap: false } });
    expect(run.seen).toEqual(['text /', 'empty /empty', 'text /dirty', 'error /cut']);
    expect(run.end?.isComplete).toBe(true);
    expect(JSON.stringify(run.documents)).not.toContain('\\u0000');
  });
});
