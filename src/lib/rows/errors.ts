import { defineErrors, invalid, type SluiceError, transient } from '../errors.ts';

const correct =
  'Correct the file at the place that the message names, and send it again. Nothing was stored.';

/** What can be wrong with a file of rows. Each message says where; nothing of a refused file is kept. */
export const readerErrors = defineErrors({
  unsupported_format: invalid(
    'Files of this type are not supported',
    'Send XLSX; or CSV, TSV, JSON or NDJSON as plain, uncompressed text in UTF-8, or in UTF-16 with a byte order mark.',
    415,
  ),
  content_mismatch: invalid(
    'The file is not what its declared type or name says',
    'Declare the type that the file really has, or leave it out: the type is detected from the content.',
    415,
  ),
  invalid_encoding: invalid(
    'The text is not valid UTF-8 or UTF-16',
    'Save the file as UTF-8 (in a spreadsheet: "CSV UTF-8") and send it again. Nothing was stored.',
  ),
  workbook_reader_failed: transient(
    'The reader of workbooks ended',
    'Send the file again; nothing was stored. If it happens repeatedly, give the process more memory.',
  ),
  empty_file: invalid('The file is empty', 'Send a file with a header and at least one row.'),
  no_rows: invalid('The file has no rows', 'Send a file with at least one row.'),
  duplicate_header: invalid(
    'Two columns have the same name',
    'Give each column a name of its own and send the file again. Nothing was stored.',
  ),
  empty_header: invalid(
    'A column has no name',
    'Name the column, or remove it from the header and from every row. Nothing was stored.',
  ),
  header_too_long: invalid('The name of a column is too long', correct),
  too_many_columns: invalid(
    'The file has too many columns',
    'Send only the columns that are needed. Nothing was stored.',
  ),
  ragged_row: invalid(
    'A row has more or fewer cells than the header',
    'Check whether the file was cut off, or a delimiter in a value is not in quotes. Nothing was stored.',
  ),
  malformed_csv: invalid(
    'The quoting of the file is broken',
    'Put values with quotes, delimiters or line breaks in quotes, and double the quotes in them. Nothing was stored.',
  ),
  malformed_json: invalid('The file is not valid JSON', correct),
  row_not_an_object: invalid(
    'A row is not a JSON object',
    'Send an array of objects, or one object per line. Nothing was stored.',
  ),
  duplicate_key: invalid(
    'An object has the same key twice',
    'Give each value its own key; otherwise one of the two would be lost. Nothing was stored.',
  ),
  number_out_of_range: invalid(
    'A number is too large to be stored as a number',
    'Send the number as text, in quotes. Nothing was stored.',
  ),
  nul_character: invalid(
    'A value contains a NUL character',
    'Remove the NUL characters from the file: the database cannot store them. Nothing was stored.',
  ),
  lone_surrogate: invalid(
    'A value contains a broken surrogate pair',
    'Write characters beyond U+FFFF as themselves or as a whole pair of \\u escapes. Nothing was stored.',
  ),
  truncated_file: invalid(
    'The file ends in the middle of a row',
    'Check that the file is complete and that every quote and bracket is closed. Nothing was stored.',
  ),
  archive_broken: invalid(
    'The file is damaged',
    'Check that the file is complete. Open it in the program that made it, save it again, and send that file.',
  ),
  archive_encrypted: invalid(
    'The file is protected by a password',
    'Save the file without a password and send that. Nothing was stored.',
  ),
  archive_unfolds_too_far: invalid(
    'The file expands to far more than its compressed size',
    'Ordinary files do not do that. Save the rows as CSV, or split the file, and send that.',
  ),
  malformed_workbook: invalid(
    'The workbook is damaged',
    'Open the workbook in a spreadsheet program, save it again as XLSX, and send that file. Nothing was stored.',
  ),
  sheet_not_found: invalid(
    'The workbook has no such sheet',
    'Set `sheet` to the name or number of one of the sheets that the message lists. Nothing was stored.',
  ),
  formula_not_calculated: invalid(
    'A formula has no result',
    'Open the workbook in a spreadsheet program, which calculates it, save it, and send that file. Nothing was stored.',
  ),
  cell_too_large: invalid('A value is too large', correct, 413),
  row_too_large: invalid('A row is too large', correct, 413),
  too_many_rows: invalid('The file has too many rows', 'Split the file. Nothing was stored.', 413),
});

/** Where a row is, for messages. */
export interface RowPlace {
  /** From 1; 0 is the header. */
  rowNo: number;
  /** The line on which the row begins, from 1. */
  line: number;
}

/** The error of one row. `what` goes on after "Row 7 (line 8)". */
export function rowError(
  code: keyof typeof readerErrors.raise,
  place: RowPlace,
  what: string,
  { cause, ...details }: Record<string, unknown> = {},
): SluiceError {
  return readerErrors.raise[code](`${placeWords(place)}${what}`, {
    details: { ...placeDetails(place), ...details },
    cause,
  });
}

export function placeWords({ rowNo, line }: RowPlace): string {
  return rowNo === 0 ? `The header (line ${line})` : `Row ${rowNo} (line ${line})`;
}

export function placeDetails({ rowNo, line }: RowPlace): { row: number; line: number } {
  return { row: rowNo, line };
}
