import { ZipStream } from '../../src/ingest/items/export/zip-stream.ts';

const namespaces = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';

export interface DocxSpec {
  /** What stands in the body, as XML; see the functions below. */
  body: string;
  title?: string;
  styles?: string;
  numbering?: string;
  footnotes?: string;
  endnotes?: string;
  /** Further parts, or others in place of those that belong to it. */
  parts?: Record<string, string>;
}

export function docxDocument(spec: DocxSpec): Buffer {
  const part = (root: string, body: string) =>
    `<?xml version="1.0"?><w:${root} ${namespaces}>${body}</w:${root}>`;
  const parts: Record<string, string> = {
    '[Content_Types].xml': '<?xml version="1.0"?><Types/>',
    'word/document.xml': part('document', `<w:body>${spec.body}</w:body>`),
  };
  if (spec.styles !== undefined) parts['word/styles.xml'] = part('styles', spec.styles);
  if (spec.numbering !== undefined) parts['word/numbering.xml'] = part('numbering', spec.numbering);
  if (spec.footnotes !== undefined) parts['word/footnotes.xml'] = part('footnotes', spec.footnotes);
  if (spec.endnotes !== undefined) parts['word/endnotes.xml'] = part('endnotes', spec.endnotes);
  if (spec.title !== undefined) {
    const title = `<dc:title xmlns:dc="http://purl.org/dc/elements/1.1/">${spec.title}</dc:title>`;
    parts['docProps/core.xml'] = `<?xml version="1.0"?><cp:coreProperties>${title}</cp:coreProperties>`;
  }
  return zipArchive({ ...parts, ...spec.parts });
}

export function zipArchive(parts: Record<string, string>): Buffer {
  const zip = new ZipStream({ level: 6 });
  for (const [name, text] of Object.entries(parts)) zip.add(name, text);
  zip.end();
  return Buffer.concat(zip.take());
}

export function paragraph(text: string, properties = ''): string {
  const shown = text.replace(/&/g, '&amp;').replace(/</g, '&lt;');
  return `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t xml:space="preserve">${shown}</w:t></w:r></w:p>`;
}

export const styled = (style: string) => `<w:pStyle w:val="${style}"/>`;

export const listed = (list: number, depth = 0) =>
  `<w:numPr><w:ilvl w:val="${depth}"/><w:numId w:val="${list}"/></w:numPr>`;

export function table(rows: string[][]): string {
  const cell = (text: string) => `<w:tc>${paragraph(text)}</w:tc>`;
  return `<w:tbl>${rows.map((cells) => `<w:tr>${cells.map(cell).join('')}</w:tr>`).join('')}</w:tbl>`;
}

/** Headings as a German Word writes them: the ids are German, the names are not. */
export const germanStyles = [1, 2, 3]
  .map((level) => `<w:style w:styleId="berschrift${level}"><w:name w:val="heading ${level}"/></w:style>`)
  .join('');

export const bulletAndNumberLists = [
  '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>',
  '<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl></w:abstractNum>',
  '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>',
  '<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>',
].join('');
