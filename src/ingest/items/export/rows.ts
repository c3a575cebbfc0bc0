import { type ExactValue, readExactMembers, readExactValue } from '../../../lib/rows/exact-json.ts';
import { exportErrors } from './errors.ts';

/** The columns of the grid and of every export of it, in order. */
export interface ExportColumns {
  /** The first row: the two columns that Sluice adds, then one per key. */
  header: readonly string[];
  /** Keys of the results, in the order of their columns. */
  keys: readonly string[];
}

/** One item from the store; the result stays the JSON text that PostgreSQL holds. */
export interface ExportItem {
  rowNo: number;
  status: string;
  resultJson: string | null;
}

/** The column of a result that is not an object. */
const wholeResultKey = 'result';

/**
 * `row_no` and `status`, then every key that a result has: first those that the job's file declared, in the file's
 * order, then new ones in order of appearance. `resultKeys` has to name the keys of ALL results: projecting a row with
 * a key that has no column fails, because its value would be lost.
 */
export function exportColumns(declared: readonly string[], resultKeys: Iterable<string>): ExportColumns {
  const met = new Set(resultKeys);
  const keys = [...new Set([...declared.filter((name) => met.has(name)), ...met])];
  const header = [freeName('row_no', keys), freeName('status', keys), ...keys];
  return { header, keys };
}

/** Keys in the order they appear in a result, for callers that collect them from results. */
export function resultKeysOf(resultJson: string | null): string[] {
  if (resultJson === null || isNull(resultJson)) return [];
  return isObject(resultJson) ? [...readExactMembers(resultJson).keys()] : [wholeResultKey];
}

/** Returns a function from an item to the values of its row, made for one set of columns. */
export function createRowProjector({ keys }: ExportColumns): (item: ExportItem) => ExactValue[] {
  const columns = keys.map((key) => ({ key, inherited: key in Object.prototype }));
  const openings = keys.map((key, at) => `${at === 0 ? '{' : ','}${JSON.stringify(key)}:`);
  return (item) => {
    const { rowNo, status, resultJson } = item;
    if (resultJson === null || isNull(resultJson)) return [rowNo, status, ...keys.map(() => null)];
    const cut = cutInOrder(item, resultJson, openings);
    if (cut !== null) return cut;
    const projected = findPlainly(item, resultJson, columns) ?? findExactly(item, resultJson, keys);
    if (projected.lost > 0) throw missingColumn(rowNo, resultJson, keys);
    return projected.row;
  };
}

/**
 * Most results are texts in the order of the columns, as programs write them: those are cut out, which takes half the
 * time of parsing. Null when the result is anything else.
 */
function cutInOrder(
  { rowNo, status }: ExportItem,
  resultJson: string,
  openings: readonly string[],
): ExactValue[] | null {
  if (resultJson.includes('\\')) return null;
  const row: ExactValue[] = [rowNo, status];
  let at = 0;
  for (const opening of openings) {
    const from = at + opening.length + 1;
    if (!resultJson.startsWith(opening, at) || resultJson[from - 1] !== '"') return null;
    const end = resultJson.indexOf('"', from);
    row.push(resultJson.slice(from, end));
    at = end + 1;
  }
  return at > 0 && at === resultJson.length - 1 ? row : null;
}

interface Projected {
  row: ExactValue[];
  /** How many members of the result have no column. */
  lost: number;
}

/**
 * JSON.parse is enough (and several times faster) for a flat object whose numbers are short and plain. Returns null for
 * anything else: a nested value, no object, or a number together with 16 digits or dots in a row or an exponent. A text
 * that only looks like that is read exactly without need, with the same result.
 */
function findPlainly(
  { rowNo, status }: ExportItem,
  resultJson: string,
  columns: readonly { key: string; inherited: boolean }[],
): Projected | null {
  if (!isObject(resultJson) || resultJson.includes('[')) return null;
  if (resultJson.indexOf('{') !== resultJson.lastIndexOf('{')) return null;
  const result = JSON.parse(resultJson) as Record<string, ExactValue>;
  const row: ExactValue[] = [rowNo, status];
  let lost = Object.keys(result).length;
  let hasNumber = false;
  for (const { key, inherited } of columns) {
    // JSON.parse makes `__proto__` an own property, but a result without it would return the inherited one.
    const value = inherited && !Object.hasOwn(result, key) ? undefined : result[key];
    if (value !== undefined) lost -= 1;
    if (typeof value === 'number') hasNumber = true;
    row.push(value ?? null);
  }
  return hasNumber && longOrScientific.test(resultJson) ? null : { row, lost };
}

const longOrScientific = /[\d.]{16}|\d[eE][+-]?\d+\s*[,}]/;

function findExactly({ rowNo, status }: ExportItem, resultJson: string, keys: readonly string[]): Projected {
  const members = isObject(resultJson)
    ? readExactMembers(resultJson)
    : new Map([[wholeResultKey, readExactValue(resultJson)]]);
  const found = keys.filter((key) => members.has(key)).length;
  const values = keys.map((key) => members.get(key) ?? null);
  return { row: [rowNo, status, ...values], lost: members.size - found };
}

function missingColumn(rowNo: number, resultJson: string, keys: readonly string[]): Error {
  const unknown = resultKeysOf(resultJson).filter((key) => !keys.includes(key));
  return exportErrors.raise.export_column_missing(
    `Row ${rowNo} has the result columns ${unknown.map((key) => JSON.stringify(key)).join(', ')}, which no result ` +
      'had when the columns of this export were collected',
    { details: { row_no: rowNo, columns: unknown } },
  );
}

/** A result may have a key with the name of an added column: then the added column is renamed. */
export function freeName(name: string, taken: readonly string[]): string {
  let free = name;
  while (taken.includes(free)) free = `item_${free}`;
  return free;
}

function isObject(json: string): boolean {
  return /^\s*\{/.test(json);
}

/** JSON null in the column, as opposed to the column being null. */
function isNull(json: string): boolean {
  return json.length < 10 && json.trim() === 'null';
}
