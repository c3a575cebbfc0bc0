import { copyOf, withoutNul } from '../shown-text.ts';
import type { LineContext, MappedColumns } from '../types.ts';
import { clockOf } from '../values/dates.ts';
import { isNullName } from '../values/numbers.ts';
import { cellReader } from './cells.ts';

type Dimensions = [header: string, cell: string][];

const maxCellLength = 500;
const hour = 'Hour';

/**
 * Reads the cells that tell a row apart from others of the same day and entity. Null when the file has no such column,
 * so that plain reports pay nothing.
 */
export function dimensionReader({ unmapped, fields }: MappedColumns, { kinds = {} }: LineContext) {
  const compared = unmapped.filter(({ header }) => (kinds[header] ?? 'other') !== 'other');
  const dayCell = cellReader(fields.metric_date);
  if (compared.length === 0 && kinds[hour] !== 'dimension') return null;
  return (cells: readonly string[]): Dimensions | null => {
    const dimensions: Dimensions = [];
    for (const { index, header } of compared) {
      const cell = (cells[index] ?? '').trim();
      if (isNullName(cell)) continue;
      dimensions.push([withoutNul(header.trim()), copyOf(withoutNul(cell.slice(0, maxCellLength)))]);
    }
    const clock = clockOf(dayCell(cells));
    if (clock !== null) dimensions.push([hour, clock]);
    return dimensions.length === 0 ? null : dimensions;
  };
}

/** Whether days are written with the hour: then the hour is a dimension, under this name. */
export function hourKind({ fields }: MappedColumns, rows: readonly (readonly string[])[]): string | null {
  const dayCell = cellReader(fields.metric_date);
  return rows.some((cells) => dayCell(cells).includes(':')) ? hour : null;
}
