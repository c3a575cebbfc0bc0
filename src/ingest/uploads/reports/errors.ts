import { defineErrors, invalid } from '../../../lib/errors.ts';

const correct = 'Correct the file where the message says, and upload it again.';

/** Why a whole report cannot be read. A fault of one row is stored with the row and never stops the file. */
export const reportErrors = defineErrors({
  report_empty: invalid(
    'The report is empty',
    'Export the report again, check that it has rows, and upload it.',
  ),
  report_not_text: invalid(
    'The report is not a text file',
    'Export the report as CSV or JSON, unpack it if it is an archive, and upload that.',
    415,
  ),
  report_not_tabular: invalid(
    'The report is neither CSV nor JSON',
    'Export the report as CSV or JSON from the advertising platform and upload that.',
    415,
  ),
  report_quote_unclosed: invalid(
    'A quote in the report is not closed',
    'Check that the file is complete and that the quote on the named line is closed, then upload it again.',
  ),
  report_json_malformed: invalid('The report is not valid JSON', correct),
  report_json_truncated: invalid(
    'The report ends before its JSON is complete',
    'The file was probably cut off in transfer: download it again from the platform and upload it.',
  ),
  report_json_too_deep: invalid('A record of the report is nested too deeply', correct),
  report_record_not_an_object: invalid(
    'A record of the report is not a JSON object',
    'Upload an array of objects, one object per line, or the unchanged response of a reporting API.',
  ),
  report_platform_error: invalid(
    'The report is an error message from the platform',
    'Fix what the platform reports, request the report again, and upload it.',
  ),
  report_too_many_columns: invalid(
    'The report has too many columns',
    'Export only the columns that are needed and upload that.',
  ),
  report_cell_too_large: invalid('A value of the report is too large', correct, 413),
  report_row_too_large: invalid('A row of the report is too large', correct, 413),
  report_too_many_lines: invalid(
    'The report has too many lines',
    'Split the report, for example by month, and upload the parts.',
    413,
  ),
});

/** Why a readable file cannot be used as a report. Each fails the upload with its message. */
export const profileErrors = defineErrors({
  no_data_available: invalid(
    'The report is empty',
    'Choose a period and an account with delivery in the ad platform, export again and upload that file.',
  ),
  bulk_sheet_not_a_report: invalid(
    'The file is a bulk-edit sheet and not a report',
    'Download a report (in Google Ads: Reports, or the download button above the table) and upload that.',
  ),
  wrong_platform: invalid(
    'The file is a report of another platform',
    'Upload the file again with the platform that the message names.',
  ),
  period_unknown: invalid(
    'The report names neither days nor a date range',
    'Export the report by day, or upload it again with date_from and date_to.',
  ),
  required_columns_missing: invalid(
    'The report lacks required columns',
    'Add these columns to the report and export it again, or map columns of the file to them.',
  ),
});
