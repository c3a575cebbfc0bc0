import {
  conflict,
  defineErrors,
  forbidden,
  invalid,
  notFound,
  rateLimited,
  transient,
} from '../../lib/errors.ts';

/** Errors of requests about uploads. Errors of files are in reports/errors.ts. */
export const uploadErrors = defineErrors({
  upload_not_found: notFound('Upload not found', 'Check the id. Members see only their own uploads.'),
  upload_form_invalid: invalid(
    'A field of the upload is missing or invalid',
    'Correct the fields listed in `errors` and send the upload again. Nothing was stored.',
    400,
  ),
  upload_file_missing: invalid(
    'The upload has no file',
    'Send multipart/form-data with a part `file`, or JSON with a file_ref.',
    400,
  ),
  upload_empty: invalid(
    'The file is empty',
    'Export the report again; an empty file is usually an export that failed.',
  ),
  report_too_large: invalid(
    'The file is too large',
    'Split the report by date or campaign and upload the parts. Nothing was stored.',
    413,
  ),
  upload_not_text: invalid(
    'The file is not a report in CSV, JSON or XLSX',
    'Export the report as CSV, JSON or XLSX; gzip and ZIP files of such reports are unpacked. Nothing was stored.',
    415,
  ),
  archive_empty: invalid(
    'The archive holds no report',
    'Put at least one report into the archive and send it again. Nothing was stored.',
  ),
  archive_too_many_reports: invalid(
    'The archive holds too many reports',
    'Send the reports in several archives, or raise MAX_ARCHIVE_REPORTS. Nothing was stored.',
    413,
  ),
  archive_nested: invalid(
    'The archive holds another archive',
    'Unpack the inner archive and send the reports themselves, or one archive of them. Nothing was stored.',
  ),
  archive_unsafe_path: invalid(
    'The archive has an unsafe file name',
    'Pack the reports again without absolute paths and without "..". Nothing was stored.',
  ),
  row_not_correctable: conflict(
    'The row cannot be corrected here',
    'Correct rows that validation refused (`rows?validation_status=invalid`). For others, upload a corrected file.',
  ),
  column_unknown: invalid(
    'The file has no such column',
    'Use the column names of the row, as `raw_data` of the upload’s rows lists them.',
  ),
  too_many_corrections: invalid(
    'Too many cells are corrected',
    'Correct the file itself, or download the rejected rows, correct them and upload that file.',
  ),
  upload_file_ref_refused: invalid(
    'The referenced file cannot be used',
    'Name a file in your tenant’s folder inside INGEST_FOLDER, which the operator configures.',
  ),
  platform_unknown: invalid(
    'There is no such platform',
    'Use a platform from GET /api/uploads/platforms.',
    400,
  ),
  platform_not_found: notFound(
    'Platform not found',
    'Use a platform from GET /api/uploads/platforms, or define one with PUT /api/uploads/platforms/{name}.',
  ),
  platform_invalid: invalid(
    'The profile of the platform is invalid',
    'Correct the places listed in `errors` and send the profile again.',
  ),
  platform_reserved: conflict(
    'The platform comes with Sluice',
    'Choose another name for a platform of your own; GET /api/uploads/platforms lists those that are taken.',
  ),
  platform_changed: conflict(
    'The platform was changed at the same moment',
    'Read the profile and send yours again.',
  ),
  platform_limit: conflict(
    'The tenant has too many platforms',
    'Delete a platform that is not used any more.',
  ),
  workspace_unknown: forbidden(
    'The workspace does not belong to the tenant',
    'Use a workspace_id from GET /api/workspaces.',
  ),
  upload_state_conflict: conflict(
    'The upload’s state does not allow this',
    'Check the upload’s status. The message names the states that allow this.',
  ),
  upload_promoting: conflict(
    'The upload is being promoted and can no longer be canceled',
    'Wait until it has finished, then undo it.',
  ),
  upload_blocked: conflict(
    'Something about the upload has to be decided first',
    'Do what each of the upload’s `blockers` says: map the column, leave it out, or give the range of the report.',
  ),
  mapping_invalid: invalid(
    'The column mapping is invalid',
    'Map each header to one of the fields that the message lists, or to null to leave it out.',
  ),
});

/** Why an upload failed: the code is in its `error_code`, with a sentence for people in `error_text`. */
export const uploadFailures = defineErrors({
  file_lost: notFound('The stored file is missing', 'Upload the file again.', 422),
  too_many_invalid_rows: invalid(
    'Too many rows are invalid',
    'Download the rejected rows and correct them, or upload with force_partial to promote the valid ones.',
  ),
  no_valid_rows: invalid('No row is valid', 'Download the rejected rows: each states its reason.'),
  no_rows_promoted: invalid(
    'No row could be promoted',
    'Download the rejected rows: each states its reason.',
  ),
  database_refused: forbidden(
    'The database refused a write',
    'Run `sluice doctor` on the server: it checks the roles and policies of the database.',
    500,
  ),
  database_lost: transient(
    'The database connection was lost repeatedly',
    'Upload the file again once the database is available.',
  ),
  storage_busy: rateLimited('The file storage kept asking to slow down', 'Upload the file again later.', 503),
  canceled_by_user: conflict('Canceled by user', 'Upload the file again if this was a mistake.'),
  staging_expired: conflict('The staged rows expired before they were promoted', 'Upload the file again.'),
});
