import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Marked } from 'marked';
import { docFrame, escapeHtml, groupsOf, type Heading } from './doc-frame.ts';

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
  const { html, headings } = renderMarkdown(page.text);
  return docFrame({ title: page.title, body: html, headings, chosen: page.name, pages: all });
}

export function renderDocIndex(all: readonly DocPage[]): string {
  const sections = groupsOf(all).map(({ title, pages }) => {
    const cards = pages.map(
      (page) => `<li><a href="/docs/${escapeHtml(page.name)}"><b>${escapeHtml(page.title)}</b></a>
<p>${escapeHtml(summaryOf(page.text).replaceAll(/[`*]/g, ''))}</p></li>`,
    );
    return `<h2>${escapeHtml(title)}</h2>\n<ul class="cards">${cards.join('')}</ul>`;
  });
  const body = `<h1>Documentation</h1>
<p>What Sluice does, how to use it and how to run it. For programs: <a href="/api/openapi.json">openapi.json</a>,
<a href="/llms.txt">llms.txt</a> and <a href="/llms-full.txt">all pages in one file</a>.</p>
${sections.join('\n')}`;
  return docFrame({ title: 'Documentation', body, headings: [], chosen: null, pages: all });
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

function renderMarkdown(text: string): { html: string; headings: Heading[] } {
  const used = new Map<string, number>();
  const headings: Heading[] = [];
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens, depth, text: raw }) {
        const id = anchorOf(raw, used);
        if (depth === 2) headings.push({ id, title: raw.replaceAll(/[`*]|\[([^\]]*)\]\([^)]*\)/g, '$1') });
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
    },
  });
  return { html: marked.parse(text, { async: false }), headings };
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
