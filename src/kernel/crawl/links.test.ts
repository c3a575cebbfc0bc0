import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeHtml, readLinks } from './links.ts';
import { normalisePageUrl } from './page-url.ts';
import { Scope } from './scope.ts';

const read = (html: string, robotsTag?: string) =>
  readLinks(html, { url: 'https://example.com/docs/a', robotsTag, product: 'Sluice', maxLinks: 100 });

describe('the links of a page', () => {
  test('are found however they are written', async () => {
    const html = `<A HREF=one>1</A><a class="x" href='two?a=1&amp;b=2'>2</a><area href="three"><a
      href = "four" >4</a><a name="here"><a href="">5</a><a href=" six ">6</a>`;
    expect((await read(html)).hrefs).toEqual(['one', 'two?a=1&b=2', 'three', 'four', 'six']);
  });

  test('are not looked for in comments, scripts, styles and text fields', async () => {
    const html = `<!-- <a href="no"> --><script>"<a href='no'>"</script><style><a href="no"></style>
      <textarea><a href="no"></textarea><title><a href="no"></title><!--> <a href="yes">`;
    expect((await read(html)).hrefs).toEqual(['yes']);
  });

  test('are found in broken markup', async () => {
    expect((await read('<a href="a>b">x</a> 1 < 2 <a href=c/>')).hrefs).toEqual(['a>b', 'c/']);
    expect((await read('<a href="never ends')).hrefs).toEqual([]);
    expect((await read(`<p title='it"s'><a href="d">`)).hrefs).toEqual(['d']);
    expect((await read('<<a href="e"><a/href="f">')).hrefs).toEqual(['e', 'f']);
  });

  test('are left out when the page or the link asks for it', async () => {
    expect((await read('<a rel="noopener NOFOLLOW" href="a"><a rel=next href="b">')).hrefs).toEqual(['b']);
    expect(await read('<meta name="ROBOTS" content="noindex, nofollow"><a href="a">')).toMatchObject({
      hrefs: [],
      isNoIndex: true,
    });
    expect(await read('<meta name="robots" content="none">')).toMatchObject({
      isNoIndex: true,
      isNoFollow: true,
    });
    expect((await read('<meta name="sluice" content="noindex">')).isNoIndex).toBe(true);
    const others = '<meta name="otherbot" content="noindex"><meta name="description" content="noindex">';
    expect((await read(others)).isNoIndex).toBe(false);
  });

  test('the links of a page and the page itself are left out if the header says so for this crawler', async () => {
    expect((await read('', 'noindex')).isNoIndex).toBe(true);
    expect(await read('', 'otherbot: noindex, nofollow')).toMatchObject({
      isNoIndex: false,
      isNoFollow: false,
    });
    expect(await read('', 'otherbot: nofollow, Sluice: noindex')).toMatchObject({
      isNoIndex: true,
      isNoFollow: false,
    });
    expect((await read('', 'unavailable_after: 25 Jun 2026, noindex')).isNoIndex).toBe(true);
  });

  test('are relative to the first base, and the first canonical address counts', async () => {
    const html = `<base href="/other/"><base href="/no/"><link rel="canonical" href="x"><link rel=canonical href="y">`;
    expect(await read(html)).toMatchObject({ base: 'https://example.com/other/', canonical: 'x' });
  });

  test('are bounded', async () => {
    const page = await read('<a href="x">'.repeat(101));
    expect(page.hrefs).toHaveLength(100);
    expect(page.isTruncated).toBe(true);
  });

  test('are read in the encoding of the page', async () => {
    const bytes = Buffer.from('<meta charset="iso-8859-1"><a href="/\xfcber">', 'latin1');
    expect((await read(decodeHtml(bytes, 'text/html'))).hrefs).toEqual(['/über']);
    expect(decodeHtml(Buffer.from('ü'), 'text/html; charset=nonsense')).toBe('ü');
  });

  test('are found behind 200,000 nested elements in linear time', async () => {
    expect((await read(`${'<div>'.repeat(200_000)}<a href="deep">`)).hrefs).toEqual(['deep']);
  }, 20_000);

  test.each(['<a href="', '<a ', "<a x='", '<', '<a href=x ', '<p>', '<!-- -->', '</script>'])(
    'leave turns to others in a page full of %s',
    async (piece) => {
      let turns = 0;
      let isDone = false;
      const count = () => {
        turns += 1;
        if (!isDone) setImmediate(count);
      };
      setImmediate(count);
      const html = piece.repeat(Math.ceil(1_000_000 / piece.length));
      expect((await read(html)).hrefs.length).toBeLessThanOrEqual(100);
      isDone = true;
      expect(turns).toBeGreaterThanOrEqual(7);
    },
  );
});

describe('the address of a page', () => {
  const normal = (href: string) => normalisePageUrl(href, 'https://example.com/docs/a')?.href ?? null;

  test('has one spelling', () => {
    const spellings = [
      'b',
      './b#part',
      'HTTPS://EXAMPLE.com:443/docs/b',
      '/docs/x/../b',
      '/docs/%62',
      'b?',
      'b?utm_id=1',
    ];
    for (const spelling of spellings) expect(normal(spelling), spelling).toBe('https://example.com/docs/b');
    expect(normal('?z=1&a=%7e&fbclid=x')).toBe('https://example.com/docs/a?a=~&z=1');
    expect(normal('b;jsessionid=123?x=1')).toBe('https://example.com/docs/b?x=1');
    expect(normal('/a%2fb')).toBe('https://example.com/a%2Fb');
  });

  test('is the same when it is read again, whatever it is made of', () => {
    const piece = fc.constantFrom(
      'a',
      '/',
      '//',
      '..',
      '%2f',
      '%7E',
      '%zz',
      '%',
      ' ',
      'ü',
      '?',
      '&',
      '=',
      '#',
      ';sid=1',
      '\\',
      '*',
    );
    fc.assert(
      fc.property(
        fc.array(fc.oneof(piece, fc.string({ maxLength: 3, unit: 'binary' })), { maxLength: 12 }),
        (pieces) => {
          const once = normal(`/${pieces.join('')}`);
          if (once !== null) expect(normal(once)).toBe(once);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test('is http or https, without a password', () => {
    for (const href of [
      'mailto:a@b.c',
      'javascript:void(0)',
      'data:text/html,x',
      'ftp://x/y',
      'http://[',
      'https://a:b@c/',
    ]) {
      expect(normal(href), href).toBeNull();
    }
  });

  test('is refused if it looks like a trap', () => {
    expect(normal(`/${'x/'.repeat(5)}`)).toBeNull();
    expect(normal(`/${'x/'.repeat(4)}`)).not.toBeNull();
    expect(normal(`/${Array.from({ length: 25 }, (_, at) => at).join('/')}`)).toBeNull();
    expect(normal(`/${'x'.repeat(2_000)}`)).toBeNull();
    expect(normal(`?${Array.from({ length: 13 }, (_, at) => `p${at}=1`).join('&')}`)).toBeNull();
  });
});

describe('a crawl', () => {
  const page = (scope: Scope, href: string) => scope.pageOf(href, 'https://example.com/')?.href ?? null;

  test('stays on its host, and treats http and https as the same', () => {
    const scope = new Scope('https://example.com/', { include: [], exclude: [] });
    expect(page(scope, 'http://example.com/a')).toBe('https://example.com/a');
    for (const href of [
      'https://www.example.com/',
      'https://example.com:8443/',
      'https://example.com.evil.net/',
    ]) {
      expect(page(scope, href), href).toBeNull();
    }
  });

  test('stays on the requested paths, and skips what is not a document', () => {
    const scope = new Scope('https://example.com/', { include: ['/docs', '/faq'], exclude: ['/docs/old'] });
    expect(page(scope, '/docs/a')).not.toBeNull();
    expect(page(scope, '/faq')).not.toBeNull();
    for (const href of ['/', '/docs/old/a', '/docs/photo.JPG', '/docs/app.js?v=1'])
      expect(page(scope, href)).toBeNull();
  });
});
