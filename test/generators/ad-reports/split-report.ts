import { parse } from 'csv-parse/sync';
import { profileOf } from '../../../src/ingest/uploads/reports/profile.ts';
import type { HeaderMapping, RawRow, ReportLayout } from '../../../src/ingest/uploads/reports/types.ts';
import type { GeneratedReport } from './generated-report.ts';

export interface SplitReport {
  layout: ReportLayout;
  rows: RawRow[];
}

/** An independent way from bytes to rows, with third-party parsers: slow, whole files only, for comparison. */
export function splitReport(
  { bytes, platform }: Pick<GeneratedReport, 'bytes' | 'platform'>,
  mapping?: HeaderMapping,
): SplitReport {
  const encoding = encodingOf(bytes);
  const text = new TextDecoder(encoding).decode(bytes);
  if (/^\s*[[{]/.test(text)) return splitJson(text, encoding);
  const delimiter = (text.split('\n')[2] ?? text).includes('\t') ? '\t' : ',';
  const lines: string[][] = parse(text, { delimiter, relax_column_count: true, skip_empty_lines: true });
  const found = profileOf(platform).findHeader(lines.slice(0, 30), { mapping });
  if ('fails' in found) throw found.fails;
  const headers = lines[found.at] ?? [];
  const titleLines = lines.slice(0, found.at).map((cells) => cells.join(delimiter));
  const rows = lines.slice(found.at + 1).map((cells, rowIndex) => ({
    rowIndex,
    line: found.at + 2 + rowIndex,
    cells: [...cells, ...Array<string>(Math.max(0, headers.length - cells.length)).fill('')],
  }));
  return { layout: { format: 'delimited', encoding, delimiter, headers, titleLines }, rows };
}

function encodingOf(bytes: Buffer): ReportLayout['encoding'] {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  return Buffer.from(bytes.toString('utf8')).equals(bytes) ? 'utf-8' : 'shift_jis';
}

function splitJson(text: string, encoding: ReportLayout['encoding']): SplitReport {
  const headers: string[] = [];
  const rows = recordsOf(text).map((record, rowIndex) => {
    const cells: string[] = [];
    for (const [path, value] of membersOf(record, '')) {
      if (!headers.includes(path)) headers.push(path);
      cells[headers.indexOf(path)] = value;
    }
    return { rowIndex, line: rowIndex + 1, cells: Array.from(cells, (cell) => cell ?? '') };
  });
  return { layout: { format: 'json', encoding, shape: 'array', headers }, rows };
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

function recordsOf(text: string): Json[] {
  if (/^\{.*\}\n\{/.test(text))
    return text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Json);
  const document = JSON.parse(text) as Json;
  if (Array.isArray(document)) return document.flatMap((part) => memberOf(part, 'results') ?? [part]);
  const answer = memberOf(document, 'data') ?? null;
  const list = memberOf(answer, 'list') ?? answer;
  return Array.isArray(list) ? list : [document];
}

const memberOf = (value: Json, name: string): Json | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value[name] : undefined;

function* membersOf(value: Json, path: string): Generator<[string, string]> {
  const below = (key: string) => (path === '' ? key : `${path}.${key}`);
  if (Array.isArray(value)) {
    for (const item of value) {
      const { action_type, value: figure } = item as { action_type: string; value: string };
      yield [below(action_type), String(figure)];
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) yield* membersOf(member, below(key));
  } else {
    yield [path, value === null ? '' : String(value)];
  }
}
