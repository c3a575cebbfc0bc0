import { defineErrors } from '../../lib/errors.ts';

export const itemErrors = defineErrors({
  items_quota_exceeded: {
    kind: 'rate_limited',
    status: 429,
    title: 'The tenant has reached its limit of open rows',
    next: 'Wait until some are processed, or ask the operator for a higher limit (open_items, MAX_OPEN_ITEMS).',
  },
  feature_disabled: {
    kind: 'not_found',
    status: 404,
    title: 'This feature is switched off',
    next: 'Ask the operator to switch it on; the message names the setting.',
  },
  all_users_forbidden: {
    kind: 'forbidden',
    status: 403,
    title: 'Only admins see the rows of all users',
    next: 'Send userId=me to see your own rows.',
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
    title: 'The form is not valid',
    next: 'Send the fields `processor` and `options` (JSON) first, then one part `file`, or several with images.',
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
    title: 'The upload broke off before the end of the file',
    next: 'Send the file again; nothing was stored.',
  },
  not_an_items_job: {
    kind: 'not_found',
    status: 404,
    title: 'The job has no items',
    next: 'Only jobs that were created from a file with POST /api/jobs have items.',
  },
  item_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'The job has no such item',
    next: 'List the items of the job and use the id of one of them.',
  },
  file_ref_refused: {
    kind: 'invalid',
    status: 422,
    title: 'The file reference cannot be used',
    next: 'Name a file in your tenant’s folder inside the folder that the operator configured (INGEST_FOLDER).',
  },
});
