import { defineErrors } from '../../lib/errors.ts';

/** Errors of requests about uploads. Errors of files are in reports/errors.ts. */
export const uploadErrors = defineErrors({
  upload_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'Upload not found',
    next: 'Check the id. Members see only their own uploads.',
  },
  upload_form_invalid: {
    kind: 'invalid',
    status: 400,
    title: 'A field of the upload is missing or invalid',
    next: 'Correct the fields listed in `errors` and send the upload again. Nothing was stored.',
  },
  upload_file_missing: {
    kind: 'invalid',
    status: 400,
    title: 'The upload has no file',
    next: 'Send multipart/form-data with a part `file`, or JSON with a file_ref.',
  },
  upload_empty: {
    kind: 'invalid',
    status: 422,
    title: 'The file is empty',
    next: 'Export the report again; an empty file is usually an export that failed.',
  },
  report_too_large: {
    kind: 'invalid',
    status: 413,
    title: 'The file is too large',
    next: 'Split the report by date or campaign and upload the parts. Nothing was stored.',
  },
  upload_not_text: {
    kind: 'invalid',
    status: 415,
    title: 'The file is neither CSV nor JSON',
    next: 'Export the report as CSV or JSON, uncompressed. Nothing was stored.',
  },
  upload_file_ref_refused: {
    kind: 'invalid',
    status: 422,
    title: 'The referenced file cannot be used',
    next: 'Name a file in your tenant’s folder inside INGEST_FOLDER, which the operator configures.',
  },
  workspace_unknown: {
    kind: 'forbidden',
    status: 403,
    title: 'The workspace does not belong to the tenant',
    next: 'Use a workspace_id from GET /api/workspaces.',
  },
  upload_state_conflict: {
    kind: 'conflict',
    status: 409,
    title: 'The upload’s state does not allow this',
    next: 'Check the upload’s status. The message names the states that allow this.',
  },
  upload_promoting: {
    kind: 'conflict',
    status: 409,
    title: 'The upload is being promoted and can no longer be canceled',
    next: 'Wait until it has finished, then undo it.',
  },
  mapping_invalid: {
    kind: 'invalid',
    status: 422,
    title: 'The column mapping is invalid',
    next: 'Map each header to one of the fields that the message lists, or to null to leave it out.',
  },
});

/** Why an upload failed: the code is in its `error_code`, with a sentence for people in `error_text`. */
export const uploadFailures = defineErrors({
  file_lost: {
    kind: 'not_found',
    status: 422,
    title: 'The stored file is missing',
    next: 'Upload the file again.',
  },
  too_many_invalid_rows: {
    kind: 'invalid',
    status: 422,
    title: 'Too many rows are invalid',
    next: 'Download the rejected rows and correct them, or upload with force_partial to promote the valid ones.',
  },
  no_valid_rows: {
    kind: 'invalid',
    status: 422,
    title: 'No row is valid',
    next: 'Download the rejected rows: each states its reason.',
  },
  no_rows_promoted: {
    kind: 'invalid',
    status: 422,
    title: 'No row could be promoted',
    next: 'Download the rejected rows: each states its reason.',
  },
  database_refused: {
    kind: 'forbidden',
    status: 500,
    title: 'The database refused a write',
    next: 'Run `sluice doctor` on the server: it checks the roles and policies of the database.',
  },
  database_lost: {
    kind: 'transient',
    status: 503,
    title: 'The database connection was lost repeatedly',
    next: 'Upload the file again once the database is available.',
  },
  storage_busy: {
    kind: 'rate_limited',
    status: 503,
    title: 'The file storage kept asking to slow down',
    next: 'Upload the file again later.',
  },
  canceled_by_user: {
    kind: 'conflict',
    status: 409,
    title: 'Canceled by user',
    next: 'Upload the file again if this was a mistake.',
  },
  staging_expired: {
    kind: 'conflict',
    status: 409,
    title: 'The staged rows expired before they were promoted',
    next: 'Upload the file again.',
  },
});
