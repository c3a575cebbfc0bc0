import { describe, expect, test } from 'vitest';
import {
  bulletAndNumberLists,
  type DocxSpec,
  docxDocument,
  germanStyles,
  listed,
  paragraph,
  styled,
  table,
  zipArchive,
} from '../../../../../test/generators/docx-document.ts';
import { readDocument } from '../read-document.ts';
import type { DocumentLimits } from '../types.ts';

const { signal } = new AbortController();
const read = (bytes: Buffer, limits: Partial<DocumentLimits> = {}, name = 'dir/report.docx') =>
  readDocument({ bytes, name }, { signal, limits });

async function textOf(spec: DocxSpec): Promise<string> {
  const result = await read(docxDocument(spec));
  if (result.kind !== 'text') throw new Error(`No text: ${JSON.stringify(result)}`);
  return result.text;
}

describe('a Word document', () => {
  test('has headings by style in any language, lists and tables', async () => {
    const body = [
      paragraph('Gates', styled('berschrift1')),
      paragraph('Running text & more.'),
      paragraph('Deep', styled('berschrift3')),
      paragraph('one', listed(1)),
      paragraph('two', listed(1, 1)),
      paragraph('Between'),
      paragraph('first', listed(2)),
      paragraph('second', listed(2)),
      table([
        ['Name', 'Height'],
        ['A', '3 m'],
      ]),
      paragraph('After'),
    ].join('');
    expect(await textOf({ body, styles: germanStyles, numbering: bulletAndNumberLists })).toBe(
      [
        '# Gates',
        'Running text & more.',
        '### Deep',
        '- one\n  - two',
        'Between',
        '1. first\n2. second',
        '| Name | Height |\n| --- | --- |\n| A | 3 m |',
        'After',
      ].join('\n\n'),
    );
  });

  test('has headings by a style based on another one, and by its outline level', async () => {
    const style = (id: string, base: string) =>
      `<w:style w:styleId="${id}"><w:name w:val="${id}"/><w:basedOn w:val="${base}"/></w:style>`;
    const styles = germanStyles + style('Mine', 'berschrift2') + style('Loop', 'Loop');
    const body = [
      paragraph('A', styled('Mine')),
      paragraph('B', '<w:outlineLvl w:val="3"/>'),
      paragraph('C', styled('Heading1')),
      paragraph('D', styled('Loop')),
    ].join('');
    expect(await textOf({ body, styles })).toBe('## A\n\n#### B\n\n# C\n\nD');
  });

  test('has no deleted text, no field codes and no duplicates', async () => {
    const run = (inner: string) => `<w:r>${inner}</w:r>`;
    const body = `<w:p>${run('<w:t>kept</w:t>')}<w:del>${run('<w:delText>gone</w:delText>')}</w:del>
      <w:ins>${run('<w:tab/><w:t>added</w:t><w:br/><w:t>below</w:t>')}</w:ins>
      ${run('<w:instrText> PAGEREF _Toc </w:instrText>')}
      <mc:AlternateContent><mc:Choice>${run('<w:t xml:space="preserve"> new</w:t>')}</mc:Choice>
      <mc:Fallback>${run('<w:t> old</w:t>')}</mc:Fallback></mc:AlternateContent></w:p>`;
    expect(await textOf({ body })).toBe('kept added\nbelow new');
  });

  test('keeps its endnotes, and says that embedded documents were left out', async () => {
    const body = `${paragraph('Text.')}<w:altChunk r:id="rId9"/>`;
    const endnotes = `<w:endnote>${paragraph('A note at the end.')}</w:endnote>`;
    const result = await read(docxDocument({ body, endnotes }));
    expect(result).toMatchObject({
      kind: 'text',
      text: 'Text.\n\nA note at the end.',
      notes: [expect.stringContaining('An embedded document was left out')],
    });
  });

  test('keeps the text of diagrams, and says what of the margins was left out', async () => {
    const part = (root: string, inner: string) => `<w:${root} xmlns:w="w" xmlns:a="a">${inner}</w:${root}>`;
    const parts = {
      'word/header1.xml': part('hdr', paragraph('Confidential draft')),
      'word/footer1.xml': part('ftr', paragraph('- 1 -')),
      'word/comments.xml': part('comments', `<w:comment>${paragraph('Is this right?')}</w:comment>`),
      'word/diagrams/data1.xml': part('dataModel', '<a:p><a:r><a:t>Oil, then test</a:t></a:r></a:p>'),
    };
    expect(await read(docxDocument({ body: paragraph('Text.'), parts }))).toMatchObject({
      kind: 'text',
      text: 'Text.\n\nOil, then test',
      notes: ['Comments were left out.', 'Headers and footers were left out: Confidential draft'],
    });
    const broken = docxDocument({ body: paragraph('Text.'), parts: { 'word/header1.xml': '<w:hdr>' } });
    expect(await read(broken)).toMatchObject({ kind: 'text', text: 'Text.', notes: [] });
  });

  test('keeps its footnotes, text boxes and tables in tables', async () => {
    const inner = `<w:pict><w:txbxContent>${paragraph('inside')}</w:txbxContent></w:pict>`;
    const box = `<w:p><w:r><w:t>outside</w:t>${inner}</w:r></w:p>`;
    const cell = (content: string) => `<w:tc>${content}</w:tc>`;
    const cells = cell(paragraph('left')) + cell(table([['x', 'y']]) + paragraph('right'));
    const nested = `<w:tbl><w:tr>${cells}</w:tr></w:tbl>`;
    const text = await textOf({
      body: box + nested,
      footnotes: `<w:footnote>${paragraph('A note.')}</w:footnote>`,
    });
    expect(text).toBe('inside\n\noutside\n\n| left | x, y right |\n| --- | --- |\n\nA note.');
  });

  test('gets its title from its properties, its title style or its file name', async () => {
    const title = paragraph('On top', styled('Title'));
    const named = await read(docxDocument({ body: title, title: ' By \n property ' }));
    expect(named).toMatchObject({ kind: 'text', title: 'By property', text: '# On top' });
    expect(await read(docxDocument({ body: title }))).toMatchObject({ title: 'On top' });
    expect(await read(docxDocument({ body: paragraph('x') }))).toMatchObject({ title: 'report' });
  });

  test('is found through its relations, and detected without an extension', async () => {
    const archive = zipArchive({
      '_rels/.rels':
        '<Relationships><Relationship Type="http://x/officeDocument" Target="/word/doc2.xml"/></Relationships>',
      'word/doc2.xml': `<w:document xmlns:w="w"><w:body>${paragraph('moved')}</w:body></w:document>`,
    });
    expect(await read(archive, {}, 'without-ending')).toMatchObject({ kind: 'text', text: 'moved' });
  });

  test('without text is empty', async () => {
    expect(await read(docxDocument({ body: '<w:p/>' }))).toMatchObject({ kind: 'empty', title: 'report' });
  });
});

describe('a Word document that cannot be read', () => {
  const codeOf = async (bytes: Buffer, limits: Partial<DocumentLimits> = {}) => {
    const result = await read(bytes, limits);
    return result.kind === 'error' ? result.code : `kind ${result.kind}`;
  };
  const compoundFile = (stream: string) =>
    Buffer.concat([
      Buffer.from('d0cf11e0a1b11ae1', 'hex'),
      Buffer.alloc(600),
      Buffer.from(stream, 'utf16le'),
    ]);

  test('says whether it is broken, encrypted or too old', async () => {
    const whole = docxDocument({ body: paragraph('x') });
    expect(await codeOf(whole.subarray(0, whole.length - 30))).toBe('docx_is_broken');
    expect(await codeOf(zipArchive({ 'word/other.xml': '<a/>' }))).toBe('docx_is_broken');
    expect(await codeOf(docxDocument({ body: '<w:p><w:r></w:p>' }))).toBe('docx_is_broken');
    expect(await codeOf(compoundFile('EncryptedPackage'))).toBe('docx_is_encrypted');
    expect(await codeOf(compoundFile('WordDocument'))).toBe('doc_is_too_old');
    expect(await codeOf(compoundFile('Workbook'))).toBe('document_is_binary');
  });

  test('with entities of its own is refused', async () => {
    const laughs =
      '<!DOCTYPE a [<!ENTITY lol "lollol">]><w:document><w:p><w:t>&lol;</w:t></w:p></w:document>';
    expect(await codeOf(docxDocument({ body: '', parts: { 'word/document.xml': laughs } }))).toBe(
      'docx_is_broken',
    );
  });

  test('a Word document that decompresses too far is refused: by ratio, by size, by entries', async () => {
    const bomb = docxDocument({ body: paragraph('a'.repeat(8 * 1024 * 1024)) });
    expect(bomb.length).toBeLessThan(40_000);
    expect(await codeOf(bomb)).toBe('document_unfolds_too_far');
    expect(await codeOf(bomb, { maxInflateRatio: 5_000 })).toBe('kind text');
    expect(await codeOf(bomb, { maxInflateRatio: 5_000, maxInflatedBytes: 1024 * 1024 })).toBe(
      'document_unfolds_too_far',
    );
    expect(await codeOf(bomb, { maxInflateRatio: 5_000, maxTextUnits: 1024 })).toBe('document_too_large');
    const entries = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`word/${at}.xml`, 'x']));
    const many = docxDocument({ body: paragraph('x'), parts: entries });
    expect(await codeOf(many, { maxArchiveEntries: 40 })).toBe('document_unfolds_too_far');
  });

  test('has elements nested without end', async () => {
    expect(await codeOf(docxDocument({ body: '<w:sdt>'.repeat(20_000) }))).toBe('docx_is_broken');
  });
});
