import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { readFeed } from './feed.ts';
import type { FeedResult } from './feed-entry.ts';
import { readSitemap } from './sitemap.ts';

/** In small pieces, as a network may have it. */
async function* pieces(content: string | Buffer, size = 7): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(content as string);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const feedOf = (content: string | Buffer, options: { contentType?: string; maxEntries?: number } = {}) =>
  readFeed(pieces(content), { url: 'https://example.com/feeds/all.xml', ...options });

async function entriesOf(content: string | Buffer) {
  const feed = await feedOf(content);
  if (feed.kind !== 'feed') throw new Error(feed.message);
  return feed.entries;
}

describe('a feed', () => {
  test('a feed of RSS 2.0 is read', async () => {
    const feed =
      await feedOf(`<?xml version="1.0"?><rss version="2.0" xmlns:content="c" xmlns:media="m"><channel>
      <title>News &amp; more</title><image><title>Logo</title></image><link>https://example.com/</link>
      <atom:link href="https://example.com/self" rel="self"/>
      <item><title><![CDATA[One <1>]]></title><link> /posts/1 </link><guid isPermaLink="false">n-1</guid>
        <pubDate>Tue, 06 Jan 2026 08:00:00 GMT</pubDate><description>short</description>
        <media:title>no</media:title><content:encoded><![CDATA[<p>long</p>]]></content:encoded></item>
      <item><title>Two</title><guid>https://example.com/posts/2</guid>
        <description>&lt;b&gt;text&lt;/b&gt;</description></item>
    </channel></rss>`);
    expect(feed).toEqual({
      kind: 'feed',
      title: 'News & more',
      isTruncated: false,
      entries: [
        {
          id: 'n-1',
          url: 'https://example.com/posts/1',
          title: 'One <1>',
          content: '<p>long</p>',
          publishedAt: 'Tue, 06 Jan 2026 08:00:00 GMT',
          updatedAt: null,
        },
        expect.objectContaining({ url: 'https://example.com/posts/2', content: '<b>text</b>' }),
      ],
    } satisfies FeedResult);
  });

  test('a feed of Atom is read, with markup in it', async () => {
    const [entry] = await entriesOf(`<feed xmlns="http://www.w3.org/2005/Atom"><title>A</title><entry>
      <id>tag:1</id><title>One</title><link rel="edit" href="/edit"/><link href="../posts/1"/>
      <updated>2026-01-02T03:04:05Z</updated><published>2026-01-01T00:00:00Z</published>
      <summary>short</summary><content type="xhtml"><div><p class="a">x &lt; y</p></div></content></entry></feed>`);
    expect(entry).toEqual({
      id: 'tag:1',
      url: 'https://example.com/posts/1',
      title: 'One',
      content: '<div><p class="a">x &lt; y</p></div>',
      publishedAt: '2026-01-01T00:00:00Z',
      updatedAt: '2026-01-02T03:04:05Z',
    });
  });

  test('a JSON Feed is read, whatever its content type', async () => {
    const feed = JSON.stringify({
      version: 'https://jsonfeed.org/version/1.1',
      title: 'Harbour &amp; docks',
      items: [
        {
          id: '1',
          url: '/one',
          title: 'One',
          content_html: '<p>Whole</p>',
          summary: 'short',
          date_published: '2026-01-02',
        },
        { id: 2, external_url: 'https://other.example/two', content_text: 'a < b\nc' },
        { url: 'https://harbour.example/three', summary: 'Only a summary', date_modified: '2026-02-03' },
        { title: 'neither id nor address' },
      ],
    });
    const result = await readFeed(pieces(`\ufeff  ${feed}`), { url: 'https://harbour.example/feed.json' });
    expect(result).toMatchObject({
      kind: 'feed',
      title: 'Harbour & docks',
      isTruncated: false,
      entries: [
        { id: '1', url: 'https://harbour.example/one', content: '<p>Whole</p>', publishedAt: '2026-01-02' },
        { id: '2', url: 'https://other.example/two', content: 'a &lt; b<br>c' },
        { id: 'https://harbour.example/three', content: 'Only a summary', updatedAt: '2026-02-03' },
      ],
    });
    expect(result.kind === 'feed' && result.entries).toHaveLength(3);
  });

  test.each([
    ['{"items": []}', 'not a JSON Feed'],
    ['{"version": "https://jsonfeed.org/version/1"}', 'not a JSON Feed'],
    ['{broken', 'not a JSON Feed'],
  ])('JSON that is no feed is refused: %s', async (text, reason) => {
    const result = await readFeed(pieces(text), { url: 'https://harbour.example/feed.json' });
    expect(result).toMatchObject({ kind: 'unreadable', message: expect.stringContaining(reason) });
  });

  test('a feed of RSS 1.0 is read', async () => {
    const [entry] = await entriesOf(`<rdf:RDF xmlns:rdf="r"><channel><title>C</title></channel>
      <item rdf:about="https://example.com/1"><title>One</title><link>https://example.com/1</link>
      <dc:date>2026-01-01</dc:date><description>d</description></item></rdf:RDF>`);
    expect(entry).toMatchObject({
      id: 'https://example.com/1',
      title: 'One',
      publishedAt: '2026-01-01',
      content: 'd',
    });
  });

  test('is read in its encoding', async () => {
    const text =
      '<?xml version="1.0" encoding="iso-8859-1"?><rss><channel><item><guid>\xe4</guid></item></channel></rss>';
    expect(await entriesOf(Buffer.from(text, 'latin1'))).toMatchObject([{ id: 'ä' }]);
    const wide = Buffer.from(`\uFEFF${text.replace('iso-8859-1', 'utf-16')}`, 'utf16le');
    expect(await entriesOf(wide)).toMatchObject([{ id: 'ä' }]);
  });

  test('loads nothing from outside and expands no entities of its own', async () => {
    const lines = Array.from(
      { length: 20 },
      (_, at) => `<!ENTITY e${at + 1} "&e${at};&e${at};&e${at};&e${at};">`,
    );
    const bomb = `<!DOCTYPE rss [<!ENTITY e0 "ha"><!ENTITY file SYSTEM "file:///etc/passwd">${lines.join('')}]>
      <rss><channel><item><guid>1</guid><title>&e20;&file;</title></item></channel></rss>`;
    const [entry] = await entriesOf(bomb);
    expect(entry?.title).toBe('&e20;&file;');
  });

  test('is bounded in entries and in texts', async () => {
    const item = '<item><guid>x</guid></item>';
    const many = await feedOf(`<rss><channel>${item.repeat(11)}</channel></rss>`, { maxEntries: 10 });
    expect(many).toMatchObject({ isTruncated: true, entries: { length: 10 } });
    const long = await readFeed(
      pieces(
        `<rss><channel><item><guid>1</guid><description>${'x'.repeat(2_000_000)}</description></item></channel></rss>`,
        65_536,
      ),
      { url: 'https://example.com/' },
    );
    expect(long).toMatchObject({ isTruncated: true });
    expect(long.kind === 'feed' && long.entries[0]?.content.length).toBe(1_000_000);
  });

  test('a truncated feed returns its whole entries, and a response that is not a feed is reported', async () => {
    const cut = await feedOf('<rss><channel><item><guid>1</guid></item><item><guid>2</gu');
    expect(cut).toMatchObject({ isTruncated: true, entries: [{ id: '1' }] });
    for (const text of ['', '<html><body>no</body></html>', '{"a":1}', '<constructor/>']) {
      expect(await feedOf(text), text).toMatchObject({ kind: 'unreadable' });
    }
    expect(await feedOf(`<rss>${'<a>'.repeat(500)}`)).toMatchObject({ kind: 'unreadable' });
  });
});

describe('a sitemap', () => {
  async function sitemapOf(content: string | Buffer, limit = 100) {
    const entries: string[] = [];
    const outcome = await readSitemap(pieces(content), {
      take: (kind, { url, lastModified }) => {
        entries.push(`${kind} ${url} ${lastModified}`);
        return entries.length < limit;
      },
    });
    return { ...outcome, entries };
  }
  const url = (path: string) => `<url><loc>https://example.com/${path}</loc></url>`;

  test('lists pages with their dates', async () => {
    const text = `<?xml version="1.0"?><urlset xmlns="s"><url><loc> https://example.com/?a=1&amp;b=2 </loc>
      <lastmod>2026-01-02</lastmod><image:image><image:loc>https://example.com/i.png</image:loc></image:image></url>
      <url><loc><![CDATA[https://example.com/b]]></loc></url></urlset>`;
    const expected = {
      kind: 'urls',
      end: 'whole',
      entries: ['page https://example.com/?a=1&b=2 2026-01-02', 'page https://example.com/b null'],
    };
    expect(await sitemapOf(text)).toEqual(expected);
    expect(await sitemapOf(gzipSync(text))).toEqual(expected);
  });

  test('lists other sitemaps', async () => {
    const text = '<sitemapindex><sitemap><loc>https://example.com/1.xml.gz</loc></sitemap></sitemapindex>';
    expect(await sitemapOf(text)).toMatchObject({
      kind: 'index',
      entries: ['sitemap https://example.com/1.xml.gz null'],
    });
  });

  test('is read only as far as needed', async () => {
    const text = `<urlset>${Array.from({ length: 50 }, (_, at) => url(String(at))).join('')}</urlset>`;
    expect(await sitemapOf(text, 3)).toMatchObject({ end: 'stopped', entries: { length: 3 } });
  });

  test('a sitemap that is truncated or broken is reported, and another page is not a sitemap', async () => {
    expect(await sitemapOf(`<urlset>${url('a')}<url><loc>https://exa`)).toMatchObject({
      end: 'cut_off',
      entries: { length: 1 },
    });
    expect(
      await sitemapOf(gzipSync(`<urlset>${url('a').repeat(500)}</urlset>`).subarray(0, 60)),
    ).toMatchObject({ end: 'broken' });
    expect(await sitemapOf('<!doctype html><html><url><loc>x</loc></url></html>')).toMatchObject({
      kind: 'none',
      entries: [],
    });
  });
});
