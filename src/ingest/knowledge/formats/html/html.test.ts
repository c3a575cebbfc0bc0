import { describe, expect, test } from 'vitest';
import { readDocument } from '../read-document.ts';
import { type DocumentLimits, type DocumentText, defaultDocumentLimits } from '../types.ts';

const { signal } = new AbortController();

async function textOf(
  html: string | Buffer,
  { mediaType = null, limits = {} }: { mediaType?: string | null; limits?: Partial<DocumentLimits> } = {},
): Promise<DocumentText> {
  const bytes = Buffer.isBuffer(html) ? html : Buffer.from(html);
  const result = await readDocument({ bytes, name: 'page.html', mediaType }, { signal, limits });
  if (result.kind !== 'text') throw new Error(`No text: ${JSON.stringify(result)}`);
  return result;
}

const words = (count: number) => Array.from({ length: count }, (_, at) => `word${at}`).join(' ');

describe('a page without a main text', () => {
  test('is read whole, and says so', async () => {
    const links = Array.from({ length: 60 }, (_, at) => `<li><a href="/${at}">Product number ${at}</a></li>`);
    const page = (body: string) =>
      `<!doctype html><html><head><title>Shop</title></head><body>${body}</body></html>`;
    // Too deep for the search for the main text.
    const deep = `${'<div>'.repeat(120)}<ul>${links.join('')}</ul>${'</div>'.repeat(120)}`;
    const { text, notes } = await textOf(page(deep));
    expect(text).toContain('Product number 59');
    expect(notes).toEqual([expect.stringContaining('The main text of the page was not found')]);
    const article = await textOf(page(`<main><h1>Gates</h1><p>${words(300)}</p></main>`));
    expect(article.notes).toEqual([]);
  });
});

describe('a piece of HTML', () => {
  test('keeps headings, lists, tables, code and quotations', async () => {
    const { text } = await textOf(`
      <h2>Gates &amp; locks</h2><p>One <b>bold</b> and <a href="/x">linked</a> line.<br>Another.</p>
      <ul><li>first</li><li>second<ol start="3"><li>deep</li><li>deeper</li></ol></li></ul>
      <table><tr><th>Name</th><th>Height</th></tr><tr><td>A|B</td><td>3 m</td></tr></table>
      <pre><code>if (a) {\n  b();\n}</code></pre><blockquote><p>Said so.</p></blockquote>
      <img alt="A picture of a gate" src="x.png">loose words`);
    expect(text).toBe(
      [
        '## Gates & locks',
        'One bold and linked line.\nAnother.',
        '- first\n- second\n  3. deep\n  4. deeper',
        '| Name | Height |\n| --- | --- |\n| A\\|B | 3 m |',
        '```\nif (a) {\n  b();\n}\n```',
        '> Said so.',
        'A picture of a gate loose words',
      ].join('\n\n'),
    );
  });

  test('loses scripts, styles, hidden parts and menus', async () => {
    const { text } = await textOf(
      '<script>evil()</script><style>p{}</style><nav>Menu</nav><p hidden>no</p><svg><text>no</text></svg>' +
        '<template>no</template><p aria-hidden="true">no</p><p>Yes</p>',
    );
    expect(text).toBe('Yes');
  });

  test('with a layout table is converted to the contents of the table', async () => {
    const { text } = await textOf('<table><tr><td><h1>Head</h1><ul><li>item</li></ul></td></tr></table>');
    expect(text).toBe('# Head\n\n- item');
  });

  test('gets a longer fence for code that contains fences', async () => {
    expect((await textOf('<pre>```\nx\n```</pre>')).text).toBe('````\n```\nx\n```\n````');
  });
});

describe('a page', () => {
  const page = (body: string, head = '<title>The  lock\n keeper</title>') =>
    `<!doctype html><html><head>${head}</head><body>${body}</body></html>`;

  test('is reduced to its main text under its title', async () => {
    const paragraphs = Array.from({ length: 8 }, () => `<p>${words(60)}, and so on.</p>`).join('');
    const { text, title } = await textOf(
      page(
        `<div class="menu sidebar"><ul>${'<li><a href="/a">Elsewhere</a></li>'.repeat(20)}</ul></div>
         <div id="content"><article><h1>The lock keeper</h1>${paragraphs}<h2>Tools</h2>${paragraphs}</article></div>
         <div class="footer"><a href="/imprint">Imprint</a></div>`,
      ),
    );
    expect(title).toBe('The lock keeper');
    expect(text.startsWith('# The lock keeper\n\n')).toBe(true);
    expect(text).toContain('## Tools');
    expect(text).not.toContain('Elsewhere');
    expect(text).not.toContain('Imprint');
    expect(text.match(/word59, and so on/g)).toHaveLength(16);
  });

  test('a page that is short is used whole', async () => {
    const { text } = await textOf(page('<h1>Hours</h1><div>9 to 5</div><div>Closed on Sundays</div>'));
    expect(text).toBe('# Hours\n\n9 to 5\n\nClosed on Sundays');
  });

  test('a page that is short and marks its main part is reduced to it', async () => {
    const page = (body: string) => `<!doctype html><html><body>${body}<footer>Imprint</footer></body></html>`;
    expect((await textOf(page('<header>Shop</header><main><p>Gates open.</p></main>'))).text).toBe(
      'Gates open.',
    );
    expect((await textOf(page('<div role="main"><p>Locks close.</p></div>'))).text).toBe('Locks close.');
    // A main part that is filled by a script says nothing.
    expect((await textOf(page('<main></main><p>Gates open.</p>'))).text).toContain('Gates open.');
  });

  test.each(['<!doctype html>', '<!doctype html><!-- nothing -->', '<html', '<!doctype html>\n<'])(
    'a page of which only %j is left is empty, and no crash',
    async (left) => {
      const bytes = Buffer.from(left);
      const result = await readDocument(
        { bytes, name: 'page.html', mediaType: null },
        { signal, limits: {} },
      );
      expect(result.kind === 'text' ? result.text.trim() : result).toSatisfy(
        (text: unknown) =>
          typeof text === 'string' || (text as { code: string }).code !== 'document_reader_failed',
      );
    },
  );

  test('with very many elements is used whole', async () => {
    const rows = '<div>row of words</div>'.repeat(400);
    const { text } = await textOf(page(`<div class="sidebar">Side</div>${rows}`), {
      limits: { maxHtmlElements: 100 },
    });
    expect(text).toContain('Side');
    expect(text.match(/row of words/g)).toHaveLength(400);
  });

  test('declares its encoding, and the encoding of the server takes precedence', async () => {
    const declared = page(
      '<p>Grüße</p>',
      '<meta http-equiv="Content-Type" content="text/html; charset=ISO-8859-1">',
    );
    expect((await textOf(Buffer.from(declared, 'latin1'))).text).toBe('Grüße');
    const cyrillic = Buffer.concat([Buffer.from('<p>'), Buffer.from([0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2])]);
    expect((await textOf(cyrillic, { mediaType: 'text/html; charset=windows-1251' })).text).toBe('Привет');
  });

  test('without words is empty', async () => {
    const bytes = Buffer.from(page('<script>1</script>', ''));
    expect(await readDocument({ bytes, name: 'a.html' }, { signal })).toMatchObject({ kind: 'empty' });
  });

  test('has no NUL and no broken surrogate pairs, however they are written', async () => {
    const { text, title } = await textOf(page('<p>a&#0;b&#xd800;c\0d</p>', '<title>x&#0;y&#xdfff;z</title>'));
    for (const value of [text, title]) {
      expect(value.includes('\0')).toBe(false);
      expect(Buffer.from(value, 'utf8').toString('utf8')).toBe(value);
    }
  });

  test('with elements nested ten thousand deep returns its text', async () => {
    for (const tag of ['div', 'b', 'ul><li', 'blockquote', 'table><tr><td']) {
      const bytes = Buffer.from(page(`<${tag}>`.repeat(10_000).concat('deep')));
      const result = await readDocument({ bytes, name: 'a.html' }, { signal });
      expect(result, tag).toMatchObject({ kind: 'text', text: expect.stringContaining('deep') });
    }
  });
});

test('the default limits accept a line of 20 MB', () => {
  expect(defaultDocumentLimits.maxTextUnits).toBeGreaterThan(20 * 1024 * 1024);
});
