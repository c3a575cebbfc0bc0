/** The parts of a workbook beside its sheets, as ECMA-376 wants them, and no more than a reader needs. */

const prolog = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const packages = 'http://schemas.openxmlformats.org/package/2006';
const types = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

/** Numbers of the cell formats in `stylesPart`. */
export const cellStyles = { header: 1, quotedText: 2, longInteger: 3 } as const;

export function contentTypesPart(sheetCount: number): string {
  const sheets = numbersTo(sheetCount).map(
    (n) => `<Override PartName="/xl/worksheets/sheet${n}.xml" ContentType="${types}.worksheet+xml"/>`,
  );
  return (
    `${prolog}<Types xmlns="${packages}/content-types">` +
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
    '<Default Extension="xml" ContentType="application/xml"/>' +
    `<Override PartName="/xl/workbook.xml" ContentType="${types}.sheet.main+xml"/>` +
    `<Override PartName="/xl/styles.xml" ContentType="${types}.styles+xml"/>${sheets.join('')}</Types>`
  );
}

export function packageRelationsPart(): string {
  return relations([{ id: 'rId1', type: 'officeDocument', target: 'xl/workbook.xml' }]);
}

export function workbookRelationsPart(sheetCount: number): string {
  const sheets = numbersTo(sheetCount).map((n) => ({
    id: `rId${n}`,
    type: 'worksheet',
    target: `worksheets/sheet${n}.xml`,
  }));
  return relations([...sheets, { id: `rId${sheetCount + 1}`, type: 'styles', target: 'styles.xml' }]);
}

export function workbookPart(sheetCount: number): string {
  const sheets = numbersTo(sheetCount).map(
    (n) => `<sheet name="Items${n === 1 ? '' : ` ${n}`}" sheetId="${n}" r:id="rId${n}"/>`,
  );
  return `${prolog}<workbook xmlns="${main}" xmlns:r="${office}"><sheets>${sheets.join('')}</sheets></workbook>`;
}

/**
 * Plain, bold for the header, text that stays text when somebody edits it (`quotePrefix`, what an apostrophe typed
 * in Excel sets), and whole numbers that are too long for the general format, which would show 1.23E+11.
 */
export function stylesPart(): string {
  return (
    `${prolog}<styleSheet xmlns="${main}">` +
    '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>' +
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>' +
    '<fills count="2"><fill><patternFill patternType="none"/></fill>' +
    '<fill><patternFill patternType="gray125"/></fill></fills>' +
    '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>' +
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>' +
    '<cellXfs count="4"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>' +
    '<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/>' +
    '<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0" quotePrefix="1"/>' +
    '<xf numFmtId="1" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs>' +
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
  );
}

/** Everything of a sheet before its rows: the header row stays in sight while scrolling. */
export function sheetOpening(columnWidths: readonly number[]): string {
  const columns = columnWidths.map(
    (width, index) => `<col min="${index + 1}" max="${index + 1}" width="${width}" customWidth="1"/>`,
  );
  return (
    `${prolog}<worksheet xmlns="${main}"><sheetViews><sheetView workbookViewId="0">` +
    '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>' +
    `<sheetFormatPr defaultRowHeight="15"/>${columns.length > 0 ? `<cols>${columns.join('')}</cols>` : ''}<sheetData>`
  );
}

export const sheetClosing = '</sheetData></worksheet>';

function relations(list: readonly { id: string; type: string; target: string }[]): string {
  const items = list.map(
    ({ id, type, target }) => `<Relationship Id="${id}" Type="${office}/${type}" Target="${target}"/>`,
  );
  return `${prolog}<Relationships xmlns="${packages}/relationships">${items.join('')}</Relationships>`;
}

function numbersTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}
