import { defineErrors } from '../../../lib/errors.ts';

export const exportErrors = defineErrors({
  export_cell_too_long: {
    kind: 'invalid',
    status: 422,
    title: 'A value is too long for a spreadsheet cell',
    next: 'Export as CSV, which has no such limit, or shorten the value that the message names.',
  },
  export_too_many_columns: {
    kind: 'invalid',
    status: 422,
    title: 'The result has more columns than a spreadsheet can hold',
    next: 'Export as CSV, which has no such limit.',
  },
  export_column_missing: {
    kind: 'bug',
    status: 500,
    title: 'A result has a column that the export does not have',
    next: 'Start the export again; it then has the new column. If it happens again, report it.',
  },
});
