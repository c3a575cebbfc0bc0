import { gzipSync } from 'node:zlib';
import { cell, row, textRow, workbookOf } from '../workbook.ts';
import { zipOf } from '../zip-archive.ts';

interface ReportFile {
  bytes: Buffer;
  filename: string;
}

/** The file as people get it from a platform or a colleague. A workbook is packed already. */
export function packed(file: ReportFile, packing: 'none' | 'gzip' | 'zip' | 'xlsx'): ReportFile {
  const { bytes, filename } = file;
  if (packing === 'gzip') return { bytes: gzipSync(bytes), filename: `${filename}.gz` };
  if (packing !== 'zip') return file;
  const junk = { name: `__MACOSX/._${filename}`, content: Buffer.from([0, 5, 22, 7]) };
  return { bytes: zipOf([junk, { name: `export/${filename}`, content: bytes }]), filename: 'export.zip' };
}

const dayOne = Date.UTC(1899, 11, 30);
const serialOf = (day: string) => String((Date.parse(day) - dayOne) / 86_400_000);
const isDay = /^\d{4}-\d\d-\d\d$/;
const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** A workbook with a sheet for people before the data; figures are numbers, and days are days. */
export function reportWorkbook(report: { titles: string[]; rows: string[][]; isNumber: boolean[] }): Buffer {
  const [header = [], ...lines] = report.rows;
  const cellOf = (text: string, at: number) => {
    if (text === '') return '<c/>';
    if (report.isNumber[at]) return cell(text);
    if (isDay.test(text)) return cell(serialOf(text), 's="1"');
    return `<c t="inlineStr"><is><t xml:space="preserve">${escaped(text)}</t></is></c>`;
  };
  const rows = [
    ...report.titles.map((title) => textRow(escaped(title))),
    textRow(...header.map(escaped)),
    ...lines.map((cells) => row(...cells.map(cellOf))),
  ];
  const cover = { name: 'Summary', rows: textRow('Made for a client') };
  return workbookOf({
    sheets: [cover, { name: 'Worksheet', rows: rows.join('') }],
    formats: ['yyyy-mm-dd'],
  });
}
