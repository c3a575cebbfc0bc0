/** The name of a reason for refusing rows, and how to fix it. */
export interface ProblemAdvice {
  title: string;
  fix: string;
}

const asExported =
  'Upload the file as the platform exported it, without opening and saving it in a spreadsheet.';
const ourSide =
  'The rows are valid. Upload the rejected rows again; if this happens again, tell the operator of this server.';

const advice: Record<string, ProblemAdvice> = {
  invalid_date: {
    title: 'The date cannot be read',
    fix: 'Write dates as YYYY-MM-DD, for example 2026-03-27, in one order in the whole file.',
  },
  ambiguous_date: {
    title: 'Day and month cannot be told apart',
    fix: 'Export with dates such as 2026-03-27.',
  },
  missing_date: {
    title: 'The row has no day',
    fix: 'Fill in the day as YYYY-MM-DD, or export the report by day.',
  },
  id_damaged_by_spreadsheet: { title: 'The id was damaged by a spreadsheet', fix: asExported },
  number_damaged_by_spreadsheet: { title: 'The number was damaged by a spreadsheet', fix: asExported },
  invalid_id: {
    title: 'The id contains characters other than digits',
    fix: 'Correct the id, or leave its column out in the step Columns so that names are used.',
  },
  missing_campaign: {
    title: 'The row names no campaign',
    fix: 'Fill in the campaign’s name or id, or remove the row.',
  },
  name_too_long: {
    title: 'The name is too long to serve as an id',
    fix: 'Add the ids of campaign, ad set and ad to the report, or shorten the names.',
  },
  invalid_number: {
    title: 'The number cannot be read',
    fix: 'Use digits with at most one decimal mark, for example 1,234.56; leave the cell empty when there is no value.',
  },
  ambiguous_number: {
    title: 'Thousands and decimals cannot be told apart',
    fix: 'Write the number without a thousands separator, for example 1234 or 1.2340.',
  },
  not_a_whole_number: {
    title: 'A count has decimals',
    fix: 'Write a whole number, or map the column to a field for amounts.',
  },
  negative_number: { title: 'A count is negative', fix: 'Correct the cell, or leave it empty.' },
  number_out_of_range: {
    title: 'The number is too large or too long',
    fix: 'Correct the number, or check that the column is mapped to the right field.',
  },
  invalid_currency: {
    title: 'The currency is unknown',
    fix: 'Write its ISO 4217 code, for example USD or EUR, or leave the cell empty.',
  },
  wrong_cell_count: {
    title: 'The row has more cells than the header',
    fix: 'Put values that contain the delimiter or a line break in quotes, or export the file again.',
  },
  json_malformed: {
    title: 'The record is not valid JSON',
    fix: 'Write each record as one complete object on its own line, or export the file again.',
  },
  json_truncated: {
    title: 'The file ends within the record',
    fix: 'The file was probably cut off in transfer: download it again from the platform and upload it.',
  },
  json_too_deep: {
    title: 'The record is nested too deeply',
    fix: 'Leave the nested lists out of the export.',
  },
  record_not_an_object: {
    title: 'The record is not a JSON object',
    fix: 'Write each record as an object with named fields, or remove it.',
  },
  cell_too_large: {
    title: 'A value is too long',
    fix: 'Shorten the value. If a quote before it is not closed, close it.',
  },
  row_too_large: {
    title: 'The row is too long',
    fix: 'Shorten the row. If it has a quote that is not closed, close it.',
  },
  too_many_columns: {
    title: 'The row has too many cells',
    fix: 'Put values that contain the delimiter in quotes, or export the file again.',
  },
  nul_character: { title: 'The file is damaged here', fix: 'Export the file again.' },
  contradicting_lines: {
    title: 'Lines contradict each other',
    fix: 'Remove the lines that are wrong, or add the column that tells them apart to the report.',
  },
  currencies_differ: {
    title: 'Lines of one day are in different currencies',
    fix: 'Upload one file per currency: amounts in different currencies are never added up.',
  },
  range_reversed: {
    title: 'The range ends before it begins',
    fix: 'Correct the first and the last day.',
  },
  entity_lost: { title: 'Its campaign, ad set or ad could not be stored', fix: ourSide },
  refused_by_database: {
    title: 'The database refused the row',
    fix: 'Correct the value that the message names, or ask the operator of this server for the log.',
  },
  batch_failed: { title: 'The row could not be written', fix: ourSide },
};

/** For an unknown code, the message of the row is the advice. */
export function adviceOn(code: string, message: string): ProblemAdvice {
  return Object.hasOwn(advice, code)
    ? (advice[code] as ProblemAdvice)
    : { title: code.replaceAll('_', ' '), fix: message };
}
