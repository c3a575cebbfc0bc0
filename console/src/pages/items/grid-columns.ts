import { cellText, memberOf } from './exact-json.ts';
import type { ItemJob } from './item-job.ts';
import type { GridRow } from './rows-api.ts';

export interface GridColumn {
  /** `status`, `error`, …, or `r:price` of the result and `i:price` of the input. */
  id: string;
  header: string;
  width: number;
  from: 'row' | 'result' | 'input';
  /** For the column of thumbnails: the job that they belong to. */
  jobId?: string;
}

/** The parts of a job that decide its columns. */
type ColumnsOf = Pick<ItemJob, 'columns' | 'resultColumns'> &
  Partial<Pick<ItemJob, 'jobType' | 'processor' | 'jobId'>>;

const own: readonly GridColumn[] = [
  { id: 'status', header: 'State', width: 120, from: 'row' },
  { id: 'error', header: 'Reason', width: 210, from: 'row' },
  { id: 'attempts', header: 'Attempts', width: 86, from: 'row' },
  { id: 'locked', header: 'Locked by', width: 120, from: 'row' },
  { id: 'updated', header: 'Updated', width: 110, from: 'row' },
];

/** The default: enough columns to see what a row is about, and no more than fit. */
const defaultValues = 4;
const valueWidth = 145;

/** The result's columns in the order of the exports: those of the file first, then new ones as they were met. */
export function resultKeys({ columns, resultColumns }: Pick<ItemJob, 'columns' | 'resultColumns'>): string[] {
  const met = new Set(resultColumns);
  return [...new Set([...columns.filter((name) => met.has(name)), ...met])];
}

export function allColumns(job: ColumnsOf): GridColumn[] {
  const value = (from: 'result' | 'input') => (name: string) => ({
    id: `${from === 'result' ? 'r' : 'i'}:${name}`,
    header: name,
    width: valueWidth,
    from,
  });
  return [
    ...thumbnails(job),
    ...own,
    ...resultKeys(job).map(value('result')),
    ...job.columns.map(value('input')),
  ];
}

function thumbnails({ jobType, processor, jobId }: ColumnsOf): GridColumn[] {
  if (jobType !== 'image' || processor !== 'image' || jobId === undefined) return [];
  return [{ id: 'image', header: 'Image', width: 64, from: 'row', jobId }];
}

/** Failed images have only a name, which is in the input. */
const imageValues = ['i:name', 'r:format', 'r:width', 'r:height'];

/** The columns in the URL, or the default. */
export function chosenColumns(
  job: ColumnsOf & Pick<ItemJob, 'failedItems'>,
  wanted: string | undefined,
): GridColumn[] {
  const all = allColumns(job);
  if (wanted !== undefined) {
    const ids = readColumns(wanted);
    return all.filter(({ id }) => ids.includes(id));
  }
  const results = all.filter(({ from }) => from === 'result');
  const isOfImages = all[0]?.id === 'image';
  const values = isOfImages
    ? all.filter(({ id }) => imageValues.includes(id)).sort(byPlaceIn(imageValues))
    : (results.length > 0 ? results : all.filter(({ from }) => from === 'input')).slice(0, defaultValues);
  const ofRow = (...ids: string[]) => own.filter(({ id }) => ids.includes(id));
  const first = [...thumbnails(job), ...ofRow('status', ...(job.failedItems > 0 ? ['error'] : []))];
  return [...first, ...values, ...ofRow('updated')];
}

function byPlaceIn(ids: readonly string[]): (one: GridColumn, other: GridColumn) => number {
  return (one, other) => ids.indexOf(one.id) - ids.indexOf(other.id);
}

/** Names may have commas. */
export function writeColumns(ids: readonly string[]): string {
  return ids.map((id) => id.replaceAll('%', '%25').replaceAll(',', '%2C')).join(',');
}

export function readColumns(text: string): string[] {
  return text.split(',').map((id) => id.replaceAll('%2C', ',').replaceAll('%25', '%'));
}

/** The value of a result or input column. A result that is not an object has one column, `result`. */
export function textIn(row: GridRow, { id, from }: Pick<GridColumn, 'id' | 'from'>): string {
  const name = id.slice(2);
  if (from === 'input') return cellText(memberOf(row.input, name));
  const isObject = typeof row.result === 'object' && row.result !== null && !Array.isArray(row.result);
  if (!isObject) return name === 'result' ? cellText(row.result) : '';
  return cellText(memberOf(row.result, name));
}
