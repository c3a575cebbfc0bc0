import { defineErrors } from '../../lib/errors.ts';

/** What a caller of the API can do wrong with uploads. What is wrong with a file is in reports/. */
export const uploadErrors = defineErrors({
  upload_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'There is no such upload',
    next: 'Check the id; a member sees only its own uploads.',
  },
  upload_form_invalid: {
    kind: 'invalid',
    status: 400,
    title: 'A field of the upload is missing or wrong',
    next: 'Correct the fields that `errors` points at and send the upload again. Nothing was stored.',
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
    title: 'The file reference cannot be followed',
    next: 'Name a file in the folder of your tenant below the one that the operator configured (INGEST_FOLDER).',
  },
  workspace_unknown: {
    kind: 'forbidden',
    status: 403,
    title: 'The workspace is not one of the tenant’s own',
    next: 'Use a workspace_id of GET /api/workspaces.',
  },
  upload_state_conflict: {
    kind: 'conflict',
    status: 409,
    title: 'The upload’s state does not allow this',
    next: 'Look at the upload’s status; the message names the states that allow it.',
  },
  upload_promoting: {
    kind: 'conflict',
    status: 409,
    title: 'The upload is being promoted and cannot be canceled any more',
    next: 'Wait until it has ended, then undo it.',
  },
  mapping_invalid: {
    kind: 'invalid',
    status: 422,
    title: 'The mapping of columns is wrong',
    next: 'Map each header to one of the fields that the message lists, or to null to leave it out.',
  },
});

/** Why an upload itself failed: codes in `error_code`, with a sentence for a person in `error_text`. */
export const uploadFailures = defineErrors({
  file_lost: {
    kind: 'not_found',
    status: 422,
    title: 'The stored file is gone',
    next: 'Upload the file again.',
  },
  too_many_invalid_rows: {
    kind: 'invalid',
    status: 422,
    title: 'Too many rows are invalid',
    next: 'Correct the rows (download the rejected ones), or upload with force_partial to promote the valid ones.',
  },
  no_valid_rows: {
    kind: 'invalid',
    status: 422,
    title: 'Not a single row is valid',
    next: 'Download the rejected rows: each has its reason.',
  },
  no_rows_promoted: {
    kind: 'invalid',
    status: 422,
    title: 'Not a single row could be promoted',
    next: 'Download the rejected rows: each has its reason.',
  },
  database_refused: {
    kind: 'forbidden',
    status: 500,
    title: 'The database refused a write',
    next: 'Run `sluice doctor` on the server: the roles and policies of the database are not as they should be.',
  },
  database_lost: {
    kind: 'transient',
    status: 503,
    title: 'The database was lost again and again',
    next: 'Upload the file again once the database is well.',
  },
  storage_busy: {
    kind: 'rate_limited',
    status: 503,
    title: 'The file storage asked to slow down too often',
    next: 'Upload the file again later.',
  },
  canceled_by_user: {
    kind: 'conflict',
    status: 409,
    title: 'Canceled by user',
    next: 'Upload the file again if it was a mistake.',
  },
  staging_expired: {
    kind: 'conflict',
    status: 409,
    title: 'The staged rows expired before they were promoted',
    next: 'Upload the file again.',
  },
});
