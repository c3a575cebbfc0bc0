import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { useProduct } from '../../../test/security/product.ts';
import { useDatabase } from '../../../test/support/worlds/database.ts';
import { groupsOf } from './doc-frame.ts';
import { readDocPages, renderDocPage } from './doc-pages.ts';

const docs = path.join(import.meta.dirname, '../../../docs');
const product = useProduct(useDatabase());
const asBrowser = { accept: 'text/html,application/xhtml+xml' };
const pages = readDocPages(docs);

test('a program gets the Markdown as it was written', async () => {
  const answer = await product.ask(null, { path: '/docs/errors.md' });
  expect(answer.type).toContain('text/markdown');
  expect(answer.text).toBe(await readFile(path.join(docs, 'errors.md'), 'utf8'));
});

test('a browser gets a page, with the anchor that a problem links to', async () => {
  const { body } = await product.ask(null, { path: '/api/me' });
  const [url = '', anchor = ''] = String(body.type).split('#');
  const answer = await product.ask(null, { path: url, headers: asBrowser });
  expect(answer.type).toContain('text/html');
  expect(answer.text).toContain(`id="${anchor}"`);
});

test('every link from a page to another page leads to one that is served', async () => {
  const names = new Set(pages.map(({ name }) => name));
  for (const page of pages) {
    const folder = path.posix.dirname(page.name);
    for (const [, href = ''] of renderDocPage(page, pages).matchAll(/href="([^"#]+\.md)(?:#[^"]*)?"/g)) {
      const target = href.startsWith('/docs/') ? href.slice(6) : path.posix.join(folder, href);
      // Pages that are not of docs/, such as an example's, are only in the repository.
      if (!href.startsWith('http') && !target.startsWith('..')) {
        expect({ from: page.name, to: target, exists: names.has(target) }).toMatchObject({ exists: true });
      }
    }
  }
});

test('the index and the texts for language models name every page', async () => {
  const index = await product.ask(null, { path: '/docs', headers: asBrowser });
  const short = await product.ask(null, { path: '/llms.txt' });
  const full = await product.ask(null, { path: '/llms-full.txt' });
  for (const { name, text } of pages) {
    expect(index.text).toContain(`href="/docs/${name}"`);
    expect(short.text).toContain(`(/docs/${name})`);
    expect(full.text).toContain(text.trim());
  }
  expect(short.text).toMatch(/^# Sluice\n\n> /);
});

test('the pictures of pages are served', async () => {
  const answer = await product.ask(null, { path: '/docs/benchmarks/jobs.svg' });
  expect(answer.status).toBe(200);
  expect(answer.type).toContain('image/svg+xml');
  expect(answer.text).toContain('<svg');
});

test('nothing outside docs/ is served', async () => {
  for (const file of ['/docs/../package.json', '/docs/%2e%2e/package.json', '/docs/nothing.md']) {
    expect((await product.ask(null, { path: file })).status).toBe(404);
  }
});

test('a page marks itself in the list of pages, and lists its own sections', async () => {
  const { text } = await product.ask(null, { path: '/docs/uploads.md', headers: asBrowser });
  expect(text.match(/aria-current="page"/g)).toHaveLength(2);
  expect(text).toContain('<a href="/docs/uploads.md" aria-current="page">');
  expect(text).toContain('<a href="#reconciliation">');
});

test('every page is in exactly one group of the list', () => {
  const listed = groupsOf(pages).flatMap((group) => group.pages.map(({ name }) => name));
  expect(listed.sort()).toEqual(pages.map(({ name }) => name).sort());
});

test('the typeface of the pages is served to everybody, and may be kept', async () => {
  const style = await product.ask(null, { path: '/api/docs/page.css' });
  const [, address = ''] = /url\("([^"]+)"\)/.exec(style.text) ?? [];
  const answer = await product.ask(null, { path: address });
  expect(answer.type).toBe('font/woff2');
  expect(answer.text.slice(0, 4)).toBe('wOF2');
});
