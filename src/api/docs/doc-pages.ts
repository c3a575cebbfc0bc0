import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Marked } from 'marked';

/** A page of docs/, by its path there: `uploads.md`, `decisions/0001-record-decisions.md`. */
export interface DocPage {
  name: string;
  title: string;
  /** As it was written. */
  text: string;
}

/** Every page below the directory: guides first, then what folders hold. */
export function readDocPages(directory: string): DocPage[] {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.md'));
  const depth = (name: string) => name.split('/').length;
  names.sort((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1));
  return names.map((name) => {
    const text = readFileSync(path.join(directory, name), 'utf8');
    return { name, title: /^# (.+)$/m.exec(text)?.[1] ?? name, text };
  });
}

/** A page as HTML, with the anchors that links into it use. */
export function renderDocPage(page: DocPage, all: readonly DocPage[]): string {
  const links = all.filter(({ name }) => !name.includes('/')).map(linkTo);
  return frame(page.title, `<nav><ul>${links.join('')}</ul></nav>\n${renderMarkdown(page.text)}`);
}

export function renderDocIndex(all: readonly DocPage[]): string {
  const folders = new Map<string, DocPage[]>();
  for (const page of all) {
    const folder = path.posix.dirname(page.name);
    folders.set(folder, [...(folders.get(folder) ?? []), page]);
  }
  const sections = [...folders].map(([folder, pages]) => {
    const heading = folder === '.' ? 'Guides and reference' : folder;
    return `<h2>${escapeHtml(heading)}</h2>\n<ul>${pages.map(linkTo).join('')}</ul>`;
  });
  return frame('Documentation', `<h1>Documentation</h1>\n${sections.join('\n')}`);
}

/** https://llmstxt.org: what there is to read, for language models. */
export function renderLlmsTxt(all: readonly DocPage[]): string {
  const lines = all.map(({ name, title, text }) => `- [${title}](/docs/${name}): ${summaryOf(text)}`);
  return `# Sluice

> Sluice takes other people's data in: synced connectors, ad reports, documents, scraped pages and lists of rows. One
> server on PostgreSQL; every row arrives once, for the right tenant, and what did not arrive has a reason.

The API: [openapi.json](/api/openapi.json). All pages in one file: [llms-full.txt](/llms-full.txt).

## Pages

${lines.join('\n')}
`;
}

export function renderLlmsFullTxt(all: readonly DocPage[]): string {
  return all.map(({ name, text }) => `<!-- /docs/${name} -->\n\n${text.trim()}\n`).join('\n\n');
}

function summaryOf(text: string): string {
  const body = text.replace(/^# .+$/m, '').replaceAll(/<!--[\s\S]*?-->/g, '');
  const paragraph = body.split(/\n{2,}/).find((part) => /^[A-Za-z`*[]/.test(part.trim())) ?? '';
  const sentence =
    paragraph
      .trim()
      .replaceAll(/\s+/g, ' ')
      .split(/(?<=\.) /)[0] ?? '';
  return sentence.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1').slice(0, 200);
}

function renderMarkdown(text: string): string {
  const used = new Map<string, number>();
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens, depth, text: raw }) {
        const id = anchorOf(raw, used);
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
    },
  });
  return marked.parse(text, { async: false });
}

/** As GitHub makes them, so that a link works in both places. */
function anchorOf(heading: string, used: Map<string, number>): string {
  const plain = heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
    .trim()
    .replaceAll(' ', '-');
  const times = used.get(plain) ?? 0;
  used.set(plain, times + 1);
  return times === 0 ? plain : `${plain}-${times}`;
}

function linkTo({ name, title }: DocPage): string {
  return `<li><a href="/docs/${escapeHtml(name)}">${escapeHtml(title)}</a></li>`;
}

function frame(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Sluice</title>
<link rel="stylesheet" href="/api/docs/page.css">
</head>
<body>
<header><a href="/">Sluice</a> <a href="/docs">Documentation</a> <a href="/api/docs">API</a></header>
<main>
${body}
</main>
</body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
