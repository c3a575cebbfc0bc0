import { defineErrors, type ErrorDefinition } from '../../../lib/errors.ts';

const badFile = (title: string, next: string): ErrorDefinition => ({
  kind: 'invalid',
  status: 422,
  title,
  next,
});

/** What makes a readable file useless as a report. Each ends the upload with the one sentence of its message. */
export const profileErrors = defineErrors({
  no_data_available: badFile(
    'The report is empty',
    'Choose a period and an account with delivery in the ad platform, export again and upload that file.',
  ),
  bulk_sheet_not_a_report: badFile(
    'The file is a sheet for bulk changes and not a report',
    'Download a report (in Google Ads: Reports, or the download button above the table) and upload that.',
  ),
  required_columns_missing: badFile(
    'The report lacks columns that are needed',
    'Add the named columns to the report and export it again, or map columns of the file to them.',
  ),
});
