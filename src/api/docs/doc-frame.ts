import type { DocPage } from './doc-pages.ts';

export interface Heading {
  id: string;
  title: string;
}

export interface PageGroup {
  title: string;
  pages: DocPage[];
}

/** In the order of the way through them. A page that is in none of these is listed with the last of them. */
const guides: readonly { title: string; names: readonly string[] }[] = [
  {
    title: 'Take data in',
    names: ['items', 'images', 'catalogs', 'uploads', 'knowledge', 'scrapes', 'connectors', 'adapters'],
  },
  { title: 'Use it', names: ['data', 'webhooks', 'building'] },
  { title: 'Run it', names: ['deploying', 'operating', 'scaling', 'roles'] },
  { title: 'Look it up', names: ['configuration', 'errors', 'state-machines'] },
];
const folderTitles: Record<string, string> = { benchmarks: 'Measured', decisions: 'Why it is built so' };

export function groupsOf(pages: readonly DocPage[]): PageGroup[] {
  const placeOf = (name: string) => guides.findIndex(({ names }) => names.includes(name.replace('.md', '')));
  const guidePages = pages.filter(({ name }) => !name.includes('/'));
  const groups = guides.map(({ title, names }, index) => {
    const isLast = index === guides.length - 1;
    const own = guidePages.filter(({ name }) => placeOf(name) === index || (isLast && placeOf(name) < 0));
    const order = ({ name }: DocPage) =>
      (names.indexOf(name.replace('.md', '')) + names.length) % names.length;
    return { title, pages: own.sort((a, b) => order(a) - order(b)) };
  });
  const folders = [...new Set(pages.filter(({ name }) => name.includes('/')).map(folderOf))];
  return [
    ...groups,
    ...folders.map((folder) => ({
      title: folderTitles[folder] ?? folder,
      pages: pages.filter((page) => page.name.includes('/') && folderOf(page) === folder),
    })),
  ].filter((group) => group.pages.length > 0);
}

/** Bar, list of pages, text, and what is on this page: no script, so that the strict content security policy holds. */
export function docFrame({
  title,
  body,
  headings,
  chosen,
  pages,
}: {
  title: string;
  body: string;
  headings: readonly Heading[];
  chosen: string | null;
  pages: readonly DocPage[];
}): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Sluice</title>
<link rel="stylesheet" href="/api/docs/page.css">
</head>
<body class="site">
${barOf('docs')}
<nav class="pages" aria-label="Pages">${groupsOf(pages)
    .map((group) => renderGroup(group, chosen))
    .join('')}</nav>
<main>
${body}
</main>
${renderContents(headings)}
</body>
</html>
`;
}

/** The bar of all pages that the server writes, as the console has it. */
export function barOf(place: 'docs' | 'api'): string {
  const current = (own: string) => (own === place ? ' aria-current="page"' : '');
  return `<header><a class="home" href="/">${mark}Sluice</a><a href="/docs"${current('docs')}>Documentation</a><a
href="/api/docs"${current('api')}>API reference</a><a href="/">Console</a></header>`;
}

const mark =
  '<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7" fill="#0f766e"/>' +
  '<path d="M7 8v16M25 8v16" stroke="#fff" stroke-width="3" stroke-linecap="round"/>' +
  '<path d="M10 13c2 0 2 2 4 2s2-2 4-2 2 2 4 2M10 20c2 0 2 2 4 2s2-2 4-2 2 2 4 2" fill="none" stroke="#99f6e4" ' +
  'stroke-width="2.4" stroke-linecap="round"/></svg>';

/** Long lists that few people need are folded, unless the page is one of theirs. */
function renderGroup({ title, pages }: PageGroup, chosen: string | null): string {
  const links = pages.map((page) => {
    const current = page.name === chosen ? ' aria-current="page"' : '';
    return `<li><a href="/docs/${escapeHtml(page.name)}"${current}>${escapeHtml(page.title)}</a></li>`;
  });
  const isOpen = pages.every(({ name }) => !name.includes('/')) || pages.some(({ name }) => name === chosen);
  return `<details${isOpen ? ' open' : ''}><summary>${escapeHtml(title)}</summary><ul>${links.join('')}</ul></details>`;
}

function renderContents(headings: readonly Heading[]): string {
  if (headings.length < 3) return '';
  const links = headings.map(({ id, title }) => `<li><a href="#${id}">${escapeHtml(title)}</a></li>`);
  return `<aside aria-label="On this page"><b>On this page</b><ul>${links.join('')}</ul></aside>`;
}

function folderOf({ name }: DocPage): string {
  return name.slice(0, name.lastIndexOf('/'));
}

export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
