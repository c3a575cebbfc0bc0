import { type StoredEntry, zipOf } from './zip-archive.ts';

const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const prolog = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';

export interface SheetSpec {
  name?: string;
  state?: 'hidden' | 'veryHidden';
  /** What stands between `<sheetData>` and its end, as XML. */
  rows: string;
}

export interface WorkbookSpec {
  sheets: SheetSpec[];
  /** Items of the shared strings, as XML: `<si><t>…</t></si>`. */
  strings?: string;
  /** Codes of number formats; cells name them by `s="1"` for the first and so on. Numbers are built-in formats. */
  formats?: (string | number)[];
  is1904?: boolean;
  /** Further parts, or others in place of those that belong to it; null takes one away. */
  parts?: Record<string, string | Buffer | null>;
}

/** A workbook of handwritten XML, as other programs write it, or as none does. */
export function workbookOf(spec: WorkbookSpec): Buffer {
  return zipOf(workbookEntries(spec));
}

export function workbookEntries(spec: WorkbookSpec): StoredEntry[] {
  const parts: Record<string, string | Buffer | null> = {
    '[Content_Types].xml': `${prolog}<Types/>`,
    '_rels/.rels': relations([relation('rId1', 'officeDocument', 'xl/workbook.xml')]),
    'xl/workbook.xml': bookXml(spec),
    'xl/_rels/workbook.xml.rels': relationsXml(spec),
    'xl/styles.xml': stylesXml(spec.formats ?? []),
  };
  if (spec.strings !== undefined)
    parts['xl/sharedStrings.xml'] = `${prolog}<sst xmlns="${main}">${spec.strings}</sst>`;
  for (const [at, { rows }] of spec.sheets.entries())
    parts[`xl/worksheets/sheet${at + 1}.xml`] = sheetXml(rows);
  return Object.entries({ ...parts, ...spec.parts }).flatMap(([name, content]) =>
    content === null ? [] : [{ name, content }],
  );
}

export function sheetXml(rows: string): string {
  return `${prolog}<worksheet xmlns="${main}"><dimension ref="A1"/><sheetData>${rows}</sheetData></worksheet>`;
}

function bookXml({ sheets, is1904 }: WorkbookSpec): string {
  const list = sheets.map(({ name, state }, at) => {
    const shown = state ? ` state="${state}"` : '';
    return `<sheet name="${name ?? `Sheet${at + 1}`}" sheetId="${at + 1}"${shown} r:id="rId${at + 1}"/>`;
  });
  const properties = is1904 ? '<workbookPr date1904="1"/>' : '<workbookPr/>';
  const inside = `${properties}<sheets>${list.join('')}</sheets>`;
  return `${prolog}<workbook xmlns="${main}" xmlns:r="${office}">${inside}</workbook>`;
}

function relationsXml({ sheets, strings }: WorkbookSpec): string {
  const list = sheets.map((_, at) => relation(`rId${at + 1}`, 'worksheet', `worksheets/sheet${at + 1}.xml`));
  list.push(relation('rId9001', 'styles', 'styles.xml'));
  if (strings !== undefined) list.push(relation('rId9002', 'sharedStrings', '/xl/sharedStrings.xml'));
  return relations(list);
}

const relation = (id: string, type: string, target: string) =>
  `<Relationship Id="${id}" Type="${office}/${type}" Target="${target}"/>`;
const relations = (list: readonly string[]) => `${prolog}<Relationships>${list.join('')}</Relationships>`;

function stylesXml(formats: readonly (string | number)[]): string {
  const custom = formats.map((code, at) =>
    typeof code === 'number' ? '' : `<numFmt numFmtId="${200 + at}" formatCode="${escapeXml(code)}"/>`,
  );
  const styles = formats.map((code, at) => `<xf numFmtId="${typeof code === 'number' ? code : 200 + at}"/>`);
  return (
    `${prolog}<styleSheet xmlns="${main}"><numFmts>${custom.join('')}</numFmts>` +
    '<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>' +
    `<cellXfs><xf numFmtId="0"/>${styles.join('')}</cellXfs></styleSheet>`
  );
}

export function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

/** A row of inline texts. */
export function textRow(...texts: string[]): string {
  const cells = texts.map((text) => `<c t="inlineStr"><is><t>${escapeXml(text)}</t></is></c>`);
  return `<row>${cells.join('')}</row>`;
}

/** A row of cells given as XML. */
export const row = (...cells: string[]): string => `<row>${cells.join('')}</row>`;

/** A cell with a value as it stands in the file. */
export function cell(value: string, attributes = ''): string {
  return `<c ${attributes}><v>${escapeXml(value)}</v></c>`;
}
