import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { zipArchive } from '../../../../../test/generators/docx-document.ts';
import { convertDocument } from '../convert.ts';
import { detectKind } from '../detect.ts';
import { readDocument } from '../read-document.ts';
import { type DocumentLimits, defaultDocumentLimits } from '../types.ts';

const fixtures = new URL('../../../../../test/fixtures/', import.meta.url);

function convert(bytes: Buffer, name: string, limits: Partial<DocumentLimits> = {}) {
  const kind = detectKind(bytes, { name });
  return convertDocument(
    { kind, name, bytes },
    { limits: { ...defaultDocumentLimits, ...limits }, charset: null, onProgress: () => {} },
  );
}

const table = '| Part | Code |\n| --- | --- |\n| Seal | KX-4410 |\n| Hose | RX-7 |';

describe.each(['odt', 'epub', 'pptx'] as const)('a document of pandoc as %s', (kind) => {
  const load = () => readFile(new URL(`documents/pandoc.${kind}`, fixtures));

  test('has its headings, lists, tables and properties', async () => {
    const read = await convert(await load(), 'no-ending');
    if (read.kind !== 'text') throw new Error(JSON.stringify(read));
    expect(read.metadata).toMatchObject({ format: kind, author: 'Ann Bee' });
    expect(read.title).toBe('Pump manual');
    for (const text of [
      'The pump is oiled every week with lukewarm oil.',
      'Close the valve.',
      table,
      'Größe',
    ]) {
      expect(read.text).toContain(text);
    }
    expect(read.text).toMatch(/^#+ Care$/m);
    expect(read.text.indexOf('# Repair')).toBeGreaterThan(read.text.indexOf('KX-4410'));
  });

  test('is broken when it is cut off, and refused when it unfolds too far', async () => {
    const bytes = await load();
    const cut = await convert(bytes.subarray(0, Math.floor(bytes.length / 2)), `a.${kind}`);
    expect(cut).toMatchObject({ kind: 'error', code: 'document_is_broken' });
    const large = await convert(bytes, `a.${kind}`, { maxInflatedBytes: 100 });
    expect(large).toMatchObject({ kind: 'error', code: 'document_unfolds_too_far' });
    expect(() => detectKind(Buffer.from('plain text'), { name: `a.${kind}` })).toThrow(
      expect.objectContaining({ code: 'document_is_broken' }),
    );
  });
});

describe('a presentation', () => {
  const slide = (inner: string) =>
    `<p:sld xmlns:p="p" xmlns:a="a" xmlns:mc="m"><p:cSld>${inner}</p:cSld></p:sld>`;
  const shape = (text: string) =>
    `<p:sp><p:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:txBody></p:sp>`;
  const relations = (...targets: [id: string, type: string, target: string][]) =>
    `<Relationships>${targets
      .map(([id, type, target]) => `<Relationship Id="${id}" Type="http://x/${type}" Target="${target}"/>`)
      .join('')}</Relationships>`;
  const parts = {
    'ppt/slides/slide1.xml': slide(shape('Shown second')),
    'ppt/slides/slide2.xml': slide(
      `<mc:AlternateContent><mc:Choice>${shape('Shown first')}</mc:Choice>
       <mc:Fallback>${shape('A picture of it')}</mc:Fallback></mc:AlternateContent>`,
    ),
    'ppt/slides/slide3.xml': slide(shape('Taken out, but still in the file')),
    'ppt/slides/_rels/slide1.xml.rels': relations(
      ['r1', 'diagramData', '../diagrams/data1.xml'],
      ['r2', 'chart', '../charts/chart1.xml'],
      ['r3', 'comments', '../comments/comment1.xml'],
    ),
    'ppt/diagrams/data1.xml': '<d xmlns:a="a"><a:p><a:r><a:t>Oil, then test</a:t></a:r></a:p></d>',
  };
  const order = {
    'ppt/presentation.xml':
      '<p:sldIdLst xmlns:p="p" xmlns:r="r"><p:sldId id="256" r:id="b"/><p:sldId id="257" r:id="a"/></p:sldIdLst>',
    'ppt/_rels/presentation.xml.rels': relations(
      ['a', 'slide', 'slides/slide1.xml'],
      ['b', 'slide', '/ppt/slides/slide2.xml'],
    ),
  };

  test('has its slides in the order in which they are shown, with their diagrams, each text once', async () => {
    expect(await convert(zipArchive({ ...order, ...parts }), 'a.pptx')).toMatchObject({
      kind: 'text',
      text: 'Shown first\n\nShown second\n\nOil, then test',
      pageStarts: [0, 11],
      notes: ['Comments on slides were left out.', 'The texts in charts were left out.'],
    });
  });

  test('keeps a table that comes after the number of the slide', async () => {
    const number = '<p:sp><p:nvPr><p:ph type="sldNum"/></p:nvPr><a:p><a:r><a:t>7</a:t></a:r></a:p></p:sp>';
    const cell = (text: string) => `<a:tc><a:p><a:r><a:t>${text}</a:t></a:r></a:p></a:tc>`;
    const frame = `<p:graphicFrame><a:tbl><a:tr>${cell('Seal')}${cell('KX-4410')}</a:tr></a:tbl></p:graphicFrame>`;
    const read = await convert(zipArchive({ 'ppt/slides/slide1.xml': slide(number + frame) }), 'a.pptx');
    expect(read).toMatchObject({ text: '| Seal | KX-4410 |\n| --- | --- |' });
  });

  test('has its slides by their numbers if it does not list them', async () => {
    const read = await convert(zipArchive(parts), 'a.pptx');
    expect(read).toMatchObject({
      text: expect.stringMatching(/^Shown second[\s\S]*Shown first[\s\S]*Taken out/),
    });
  });
});

test('an OpenDocument text says what of its margins was left out', async () => {
  const part = (inner: string) =>
    `<office:document xmlns:office="o" xmlns:text="t" xmlns:style="s">${inner}</office:document>`;
  const bytes = zipArchive({
    mimetype: 'application/vnd.oasis.opendocument.text',
    'content.xml': part(
      '<text:p>Text.<office:annotation><text:p>Really?</text:p></office:annotation></text:p>',
    ),
    'styles.xml': part('<style:header><text:p>Confidential draft</text:p></style:header>'),
  });
  expect(await convert(bytes, 'a.odt')).toMatchObject({
    text: 'Text.',
    notes: ['Comments were left out.', 'Headers and footers were left out: Confidential draft'],
  });
});

describe('rows', () => {
  test('of a workbook stand alone, with the names of their columns, below the name of their sheet', async () => {
    for (const name of ['libreoffice', 'openpyxl']) {
      const bytes = await readFile(new URL(`workbooks/${name}.xlsx`, fixtures));
      expect(await convert(bytes, 'a.xlsx')).toMatchObject({
        kind: 'text',
        text: expect.stringMatching(
          /^## Items\n\nsku: 0001; title: Größe 名前 😀; price: 19\.99; in stock: true;/,
        ),
        metadata: { format: 'xlsx' },
      });
    }
  });

  test('of a CSV file as well, and a single line is kept', async () => {
    const text = 'part;code;note\nSeal;KX-4410;"two\nlines"\nHose;RX-7;\n';
    expect(await convert(Buffer.from(text), 'a.csv')).toMatchObject({
      kind: 'text',
      text: 'part: Seal; code: KX-4410; note: two\nlines\n\npart: Hose; code: RX-7',
    });
    expect(await convert(Buffer.from('Seal,KX-4410\n'), 'a.csv')).toMatchObject({ text: 'Seal; KX-4410' });
    expect(await convert(Buffer.from(',\n'), 'a.csv')).toMatchObject({ kind: 'empty' });
  });

  test('are read in the thread of documents', async () => {
    const bytes = await readFile(new URL('workbooks/openpyxl.xlsx', fixtures));
    const { signal } = new AbortController();
    expect(await readDocument({ name: 'a.xlsx', bytes }, { signal })).toMatchObject({ kind: 'text' });
    const odt = await readFile(new URL('documents/pandoc.odt', fixtures));
    expect(await readDocument({ name: 'a.odt', bytes: odt }, { signal })).toMatchObject({ kind: 'text' });
  });
});
