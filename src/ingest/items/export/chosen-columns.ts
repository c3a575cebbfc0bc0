import { type ExactValue, readExactMembers } from '../../../lib/rows/exact-json.ts';
import { exportErrors } from './errors.ts';
import { createRowProjector, type ExportItem, exportColumns, freeName } from './rows.ts';

/** What an export has beside the columns of the grid. */
export interface ExportWish {
  /** The columns of the file, as `input.NAME`. */
  input: boolean;
  /** Why a row failed: `error_code` and `last_error`. */
  reasons: boolean;
  /** Only these columns, in this order; null for all of them. */
  columns: readonly string[] | null;
}

export const plainWish: ExportWish = { input: false, reasons: false, columns: null };

export interface DetailedItem extends ExportItem {
  errorCode?: string | null;
  lastError?: string | null;
  inputJson?: string | null;
}

export interface ChosenColumns {
  header: readonly string[];
  project(item: DetailedItem): ExactValue[];
  /** A row that was still open when the export began: without a result. */
  projectOpen(item: DetailedItem): ExactValue[];
}

/** The columns of an export, in order: row number, status, reasons, input, result. */
export function chooseColumns(
  job: { columns: readonly string[]; resultColumns: readonly string[] },
  wish: ExportWish,
): ChosenColumns {
  const grid = exportColumns(job.columns, job.resultColumns);
  const project = createRowProjector(grid);
  const openRow = (item: DetailedItem) => project({ ...item, status: 'PROCESSING', resultJson: null });
  if (!wish.input && !wish.reasons && wish.columns === null) {
    return { header: grid.header, project, projectOpen: openRow };
  }
  const inputs = wish.input ? job.columns : [];
  const [rowNo = '', status = '', ...results] = grid.header;
  const taken = [...grid.header];
  const free = (name: string) => {
    const found = freeName(name, taken);
    taken.push(found);
    return found;
  };
  const reasons = wish.reasons ? [free('error_code'), free('last_error')] : [];
  const header = [rowNo, status, ...reasons, ...inputs.map((name) => free(`input.${name}`)), ...results];
  const positions = wish.columns === null ? null : positionsOf(wish.columns, header);
  const arrange = (item: DetailedItem, [no = null, state = null, ...values]: ExactValue[]): ExactValue[] => {
    const why = wish.reasons ? [item.errorCode ?? null, item.lastError ?? null] : [];
    const row = [no, state, ...why, ...inputValues(item, inputs), ...values];
    return positions === null ? row : positions.map((at) => row[at] ?? null);
  };
  return {
    header: positions === null ? header : positions.map((at) => header[at] ?? ''),
    project: (item) => arrange(item, project(item)),
    projectOpen: (item) => arrange({ ...item, errorCode: null, lastError: null }, openRow(item)),
  };
}

function inputValues({ inputJson }: DetailedItem, names: readonly string[]): ExactValue[] {
  if (names.length === 0) return [];
  const members = readExactMembers(inputJson ?? '{}');
  return names.map((name) => members.get(name) ?? null);
}

function positionsOf(wanted: readonly string[], header: readonly string[]): number[] {
  return wanted.map((name) => {
    const at = header.indexOf(name);
    if (at !== -1) return at;
    const known = header.slice(0, 30).map((one) => JSON.stringify(one));
    throw exportErrors.raise.export_column_unknown(
      `There is no column ${JSON.stringify(name.slice(0, 200))}; this export can have ${known.join(', ')}`,
      {
        details: { column: name.slice(0, 200) },
        fields: [{ pointer: '/columns', message: 'names no column' }],
      },
    );
  });
}
