import type { SluiceError } from '../../../../lib/errors.ts';
import { profileErrors } from '../errors.ts';
import { headerKey } from '../header-names.ts';
import { sampleColumns, shortened } from '../shown-text.ts';
import type { HeaderMapping, MappedColumns, PlatformDefinition, ReportField } from '../types.ts';
import type { HeaderAliases } from './aliases.ts';
import { chosenField, mapHeaders } from './mapping.ts';

export interface HeaderSearch {
  definition: PlatformDefinition;
  aliases: HeaderAliases;
  lines: readonly (readonly string[])[];
  mapping?: HeaderMapping | undefined;
}

/** Cells of the first rows, which help people to recognize a column. */
type SampleRows = readonly (readonly string[])[];

/** The line with the most known names is the header; titles and rows have hardly any. */
export function findHeader(search: HeaderSearch): { at: number; known: number } | { fails: SluiceError } {
  const { definition, aliases, lines, mapping } = search;
  const scores = lines.map((cells) => countKnown(cells, { aliases, mapping }));
  const best = Math.max(0, ...scores);
  const at = best >= leastKnown ? scores.indexOf(best) : -1;
  if (lines.some(isBulkSheet)) return { fails: bulkSheet(definition) };
  const first = lines.find((cells) => cells.some((cell) => cell.trim() !== ''));
  const below =
    at === -1 ? first : lines.slice(at + 1).find((cells) => cells.some((cell) => cell.trim() !== ''));
  if (below !== undefined && isNoDataNotice(below)) return { fails: noData(definition) };
  const header = lines[at] ?? widest(lines);
  const columns = mapHeaders({ platform: definition.platform, aliases, headers: header, mapping });
  const fails = findMissing(columns, { definition, aliases, rows: lines.slice(lines.indexOf(header) + 1) });
  return fails === null ? { at, known: best } : { fails };
}

/** Returns the error of a report that lacks required columns, or null. */
export function findMissing(
  columns: MappedColumns,
  { definition, aliases, rows }: Pick<HeaderSearch, 'definition' | 'aliases'> & { rows: SampleRows },
): SluiceError | null {
  const missing = needs.filter(({ isMet }) => !isMet(columns.fields));
  // A report without a day covers a range, so the lack of a day alone is no reason.
  if (missing.every(({ isDay }) => isDay)) return null;
  const named = [...columns.headers.keys()].filter((at) => columns.headers[at]?.trim() !== '');
  const seen = named.map((at) => columns.headers[at]?.trim() ?? '');
  const unused = columns.unmapped.map(({ header }) => header);
  const nearest = missing.flatMap(({ fields, what }) => {
    const header = fields.map((field) => aliases.nearestTo(field, unused)).find((found) => found !== null);
    return header === undefined ? [] : [{ what, header }];
  });
  const wanted = missing
    .map(({ what, fields }) => `${what} (${exampleNames(definition, fields)})`)
    .join(' and ');
  const hint = nearest.map(({ what, header }) => `"${shorten(header)}" for ${what}`).join(', ');
  const message =
    `This ${definition.title} report has no column for ${wanted}; columns seen: ${listed(seen)}; ` +
    `nearest match: ${hint === '' ? 'none' : hint}.` +
    (missing.some(({ isDay }) => isDay) ? ` ${definition.daily_advice}` : '');
  const details = {
    missing: missing.flatMap(({ fields }) => fields.slice(0, 1)),
    seen: seen.slice(0, maxListed).map(shorten),
    headers: seen,
    samples: sampleColumns(rows, named),
    nearest: Object.fromEntries(nearest.map(({ what, header }) => [what, shorten(header)])),
  };
  return profileErrors.raise.required_columns_missing(message, { details });
}

type Fields = MappedColumns['fields'];

const figures: ReportField[] = [
  'impressions',
  'spend',
  'clicks',
  'link_clicks',
  'reach',
  'conversions',
  'conversion_value',
];

const entityFields: ReportField[] = [
  'campaign_name',
  'campaign_id',
  'ad_set_name',
  'ad_set_id',
  'ad_name',
  'ad_id',
];

const needs: { what: string; fields: ReportField[]; isDay: boolean; isMet: (fields: Fields) => boolean }[] = [
  {
    what: 'the day',
    fields: ['metric_date', 'period_start', 'period_end'],
    isDay: true,
    isMet: (fields) => 'metric_date' in fields || ('period_start' in fields && 'period_end' in fields),
  },
  {
    what: 'the campaign',
    fields: ['campaign_name', 'campaign_id'],
    isDay: false,
    // Without a campaign, the highest entity that is there carries the lines.
    isMet: (fields) => entityFields.some((field) => field in fields),
  },
  {
    what: 'any figure',
    fields: figures,
    isDay: false,
    isMet: (fields) => figures.some((field) => field in fields),
  },
];

const leastKnown = 2;
const maxListed = 60;

function countKnown(
  cells: readonly string[],
  { aliases, mapping }: { aliases: HeaderAliases; mapping: HeaderMapping | undefined },
): number {
  const fields = cells.map((cell) => chosenField(mapping, cell) ?? aliases.lookUp(cell).hits[0]?.field);
  return new Set(fields.filter((field) => field !== undefined)).size;
}

const widest = (lines: HeaderSearch['lines']): readonly string[] =>
  lines.reduce((widest, cells) => (cells.length > widest.length ? cells : widest), []);

/** Whether this is the notice of Meta's empty export, in one of the known languages. */
function isNoDataNotice(cells: readonly string[]): boolean {
  const filled = cells.filter((cell) => cell.trim() !== '');
  return filled.length === 1 && noDataKeys.has(headerKey(filled[0] ?? ''));
}

const noDataKeys = new Set(
  [
    'No data available',
    'No data',
    'Keine Daten verfügbar',
    'Aucune donnée disponible',
    'No hay datos disponibles',
    'Ningún dato disponible',
    'Nenhum dado disponível',
    'Não há dados disponíveis',
    'Nessun dato disponibile',
    'Geen gegevens beschikbaar',
    'Brak dostępnych danych',
    'Brak danych',
    'Veri yok',
    'Kullanılabilir veri yok',
    'データがありません',
    '利用できるデータがありません',
    '暂无数据',
    '没有可用数据',
    '沒有可用的資料',
    '沒有資料',
  ].map(headerKey),
);

function isBulkSheet(cells: readonly string[]): boolean {
  const keys = new Set(cells.map(headerKey));
  return bulkPairs.some(([rowType, action]) => keys.has(rowType) && keys.has(action));
}

const bulkPairs = [
  ['Row Type', 'Action'],
  ['Zeilentyp', 'Aktion'],
  ['Type de ligne', 'Action'],
  ['Tipo de fila', 'Acción'],
  ['Tipo de linha', 'Ação'],
  ['Tipo di riga', 'Azione'],
  ['Rijtype', 'Actie'],
  ['Typ wiersza', 'Działanie'],
  ['Satır Türü', 'İşlem'],
  ['行の種類', '操作'],
  ['行类型', '操作'],
].map(([rowType = '', action = '']) => [headerKey(rowType), headerKey(action)] as const);

const bulkSheet = ({ title }: PlatformDefinition) =>
  profileErrors.raise.bulk_sheet_not_a_report(
    `The file is a ${title} bulk-edit sheet (it has the columns "Row Type" and "Action") and not a report; ` +
      'download a report by day and upload that.',
  );

const noData = ({ title }: PlatformDefinition) =>
  profileErrors.raise.no_data_available(
    `${title} exported no rows: the file says "No data available."; choose a period with delivery and export again.`,
  );

function exampleNames(definition: PlatformDefinition, fields: ReportField[]): string {
  const table = definition.aliases.en ?? definition.aliases.any ?? {};
  const names = fields.flatMap((field) => table[field]?.slice(0, 1) ?? [field]);
  return `for example ${names
    .slice(0, 3)
    .map((name) => `"${name}"`)
    .join(', ')}`;
}

function listed(seen: string[]): string {
  if (seen.length === 0) return 'none';
  const names = seen.slice(0, maxListed).map((header) => `"${shorten(header)}"`);
  const more = seen.length > maxListed ? ` and ${seen.length - maxListed} more` : '';
  return names.join(', ') + more;
}

const shorten = (text: string) => shortened(text, 61);
