import { defineErrors } from '../../lib/errors.ts';

export const itemErrors = defineErrors({
  ingest_disabled: {
    kind: 'transient',
    status: 503,
    title: 'Taking in files is switched off',
    next: 'Ask the operator to set DB_INGEST_ENABLED.',
  },
  feature_disabled: {
    kind: 'not_found',
    status: 404,
    title: 'This feature is switched off',
    next: 'Ask the operator; the message names the setting.',
  },
  all_users_forbidden: {
    kind: 'forbidden',
    status: 403,
    title: 'Only admins see the rows of all users',
    next: 'Ask with userId=me.',
  },
  file_missing: {
    kind: 'invalid',
    status: 400,
    title: 'The request has no file',
    next: 'Send multipart/form-data with a part `file`, or JSON with a fileRef.',
  },
  form_invalid: {
    kind: 'invalid',
    status: 400,
    title: 'The form is not as it has to be',
    next: 'Send the fields `processor` and `options` (JSON) before the part `file`.',
  },
  upload_too_large: {
    kind: 'invalid',
    status: 413,
    title: 'The file is too large',
    next: 'Split the file, or ask the operator to raise MAX_UPLOAD_BYTES.',
  },
  upload_aborted: {
    kind: 'invalid',
    status: 400,
    title: 'The upload ended before the file did',
    next: 'Send the file again; nothing of it was kept.',
  },
  not_an_items_job: {
    kind: 'not_found',
    status: 404,
    title: 'The job has no items',
    next: 'Items belong to jobs that were made from a file with POST /api/jobs.',
  },
  file_ref_refused: {
    kind: 'invalid',
    status: 422,
    title: 'The file reference cannot be used',
    next: 'Name a file below the folder that the operator configured (INGEST_FOLDER).',
  },
});
