import { describe, expect, test } from 'vitest';
import { parseRobots } from './robots.ts';

const allows = (lines: string[], path: string) =>
  parseRobots(lines.join('\n'), 'Sluice').allows(new URL(path, 'https://example.com'));
const everyone = 'User-agent: *';

describe('robots.txt', () => {
  test('robots.txt that is empty, or is a page of HTML, allows everything', () => {
    for (const text of ['', '<!doctype html><title>Not found</title>', '\uFEFF# nothing']) {
      expect(allows([text], '/a'), text).toBe(true);
    }
  });

  test('counts the group with our name and not the one for everyone', () => {
    const lines = [everyone, 'Disallow: /', 'user-agent: sluice/1.0', 'Disallow: /ours'];
    expect(allows(lines, '/a')).toBe(true);
    expect(allows(lines, '/ours')).toBe(false);
    expect(allows([everyone, 'Disallow: /'], '/a')).toBe(false);
    expect(allows(['User-agent: sluicebox', 'Disallow: /'], '/a')).toBe(true);
  });

  test('joins groups of one name, and names that stand together share their rules', () => {
    const lines = [
      'User-agent: other',
      'User-agent: sluice',
      'Disallow: /a',
      '',
      'User-agent: sluice',
      'Disallow: /b',
    ];
    expect(allows(lines, '/a')).toBe(false);
    expect(allows(lines, '/b')).toBe(false);
    const others = ['User-agent: sluice', 'Disallow: /a', 'User-agent: other', 'Disallow: /b'];
    expect(allows(others, '/b')).toBe(true);
  });

  test('is decided by the longest pattern, and between equals by the one that allows', () => {
    expect(allows([everyone, 'Allow: /p', 'Disallow: /'], '/page')).toBe(true);
    expect(allows([everyone, 'Disallow: /page', 'Allow: /p'], '/page')).toBe(false);
    expect(allows([everyone, 'Disallow: /folder', 'Allow: /folder'], '/folder/page')).toBe(true);
    expect(
      allows([everyone, 'Allow: /example/page/', 'Disallow: /example/page/*.gif'], '/example/page/a.gif'),
    ).toBe(false);
  });

  test.each([
    ['/fish', '/fish.html', true],
    ['/fish', '/Fish', false],
    ['/fish*', '/fishheads/yummy', true],
    ['/*.php', '/folder/any.php.file?x=1', true],
    ['/*.php', '/windows.PHP', false],
    ['/*.php$', '/index.php', true],
    ['/*.php$', '/index.php?a=1', false],
    ['/fish*.php', '/fishheads/catfish.php?id=1', true],
    ['/*?', '/a?b', true],
    ['/*?', '/a', false],
    ['/a*a$', '/a', false],
    ['/a*b*b$', '/a-b', false],
    ['/$', '/', true],
    ['/$', '/a', false],
    ['/a%3cd', '/a%3Cd', true],
    ['/%7Ejoe', '/~joe', true],
    ['/ü', '/%C3%BC', true],
    ['/a%2Ab', '/a*b', true],
    ['/a$b', '/a$b', true],
    ['/a/b', '/a%2Fb', false],
  ])('with the pattern %s forbids %s: %s', (pattern, path, isMatch) => {
    expect(allows([everyone, `Disallow: ${pattern}`], path)).toBe(!isMatch);
  });

  test('forbids nothing with an empty rule, and never itself', () => {
    expect(allows([everyone, 'Disallow:'], '/a')).toBe(true);
    expect(allows([everyone, 'Disallow: /'], '/robots.txt')).toBe(true);
  });

  test('takes no longer for a malicious pattern', () => {
    const pattern = `/${'*a'.repeat(5_000)}$`;
    expect(allows([everyone, `Disallow: ${pattern}`], `/${'a'.repeat(4_999)}b`)).toBe(true);
  });

  test('names sitemaps anywhere in the file, and a crawl delay', () => {
    const robots = parseRobots(
      `Sitemap: https://example.com/a.xml\n${everyone}\nCrawl-delay: 2.5\nDisallow: /x # why\nSitemap: /b.xml`,
      'Sluice',
    );
    expect(robots.sitemaps).toEqual(['https://example.com/a.xml', '/b.xml']);
    expect(robots.crawlDelayMs).toBe(2_500);
    expect(robots.allows(new URL('https://example.com/x'))).toBe(false);
    expect(parseRobots(`${everyone}\nCrawl-delay: soon`, 'Sluice').crawlDelayMs).toBeNull();
  });
});
