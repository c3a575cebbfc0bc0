import { bug, defineErrors, invalid } from '../../../lib/errors.ts';

export const exportErrors = defineErrors({
  export_cell_too_long: invalid(
    'A value is too long for a spreadsheet cell',
    'Export as CSV, which has no such limit, or shorten the value that the message names.',
  ),
  export_too_many_columns: invalid(
    'The result has more columns than a spreadsheet can hold',
    'Export as CSV, which has no such limit.',
  ),
  export_column_unknown: invalid(
    'The export has no such column',
    'Choose among the columns that the message names; `input=true` and `reasons=true` add more.',
  ),
  export_column_missing: bug(
    'A result has a column that the export does not have',
    'Start the export again; it then has the new column. If it happens again, report it.',
  ),
});
