/** What becomes of each column of the file: its name in the job, or null if it is left out. */
export type ColumnMapping = Record<string, string | null>;

/** JSON to send; null when every column stays as it is. */
export function mappingJson(mapping: ColumnMapping): string | null {
  const changed = Object.entries(mapping).filter(([from, to]) => to !== from);
  return changed.length === 0 ? null : JSON.stringify(Object.fromEntries(changed));
}

/** The columns of the job, in the order of the file. */
export function mappedColumns(columns: readonly string[], mapping: ColumnMapping): string[] {
  return columns.flatMap((name) => mapping[name] ?? (Object.hasOwn(mapping, name) ? [] : [name]));
}

/** Why the mapping cannot be sent; null when it can. */
export function mappingProblem(columns: readonly string[], mapping: ColumnMapping): string | null {
  const names = mappedColumns(columns, mapping);
  if (columns.length > 0 && names.length === 0) return 'Keep at least one column.';
  if (names.some((name) => name.trim() === '')) return 'Give every column a name.';
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  return twice === undefined ? null : `Two columns are named ${twice}.`;
}
