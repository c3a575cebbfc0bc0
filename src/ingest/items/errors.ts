import { conflict, defineErrors, forbidden, invalid, notFound, rateLimited } from '../../lib/errors.ts';

export const itemErrors = defineErrors({
  items_quota_exceeded: rateLimited(
    'The tenant has reached its limit of open rows',
    'Wait until some are processed, or ask the operator for a higher limit (open_items, MAX_OPEN_ITEMS).',
  ),
  feature_disabled: notFound(
    'This feature is switched off',
    'Ask the operator to switch it on; the message names the setting.',
  ),
  all_users_forbidden: forbidden(
    'Only admins see the rows of all users',
    'Send userId=me to see your own rows.',
  ),
  file_missing: invalid(
    'The request has no file',
    'Send multipart/form-data with a part `file`, or JSON with a fileRef.',
    400,
  ),
  form_invalid: invalid(
    'The form is not valid',
    'Send the fields `processor` and `options` (JSON) first, then one part `file`, or several with images.',
    400,
  ),
  column_mapping_invalid: invalid(
    'The mapping does not fit the file',
    'Map columns that the file has, each to a name of its own, and keep at least one.',
  ),
  upload_too_large: invalid(
    'The file is too large',
    'Split the file, or ask the operator to raise MAX_UPLOAD_BYTES.',
    413,
  ),
  upload_aborted: invalid(
    'The upload broke off before the end of the file',
    'Send the file again; nothing was stored.',
    400,
  ),
  not_an_items_job: notFound(
    'The job has no items',
    'Only jobs that were created from a file with POST /api/jobs have items.',
  ),
  item_not_found: notFound(
    'The job has no such item',
    'List the items of the job and use the id of one of them.',
  ),
  template_not_found: notFound(
    'There is no such template',
    'List the templates with GET /api/items/templates and use the name of one of them.',
  ),
  template_limit: conflict(
    'The tenant has as many templates as allowed',
    'Delete a template that nobody uses, or replace one by its name.',
  ),
  order_not_served: invalid(
    'No index has the rows in this order',
    'List fewer statuses, or another order: the message says which.',
    400,
  ),
  item_at_work: conflict(
    'The row is being processed',
    'Wait until it has ended, or pause the job, and send the request again.',
  ),
  item_column_unknown: invalid(
    'The job has no such column',
    'Name one of the columns that the message lists.',
  ),
  job_not_ended: conflict(
    'The job has not ended',
    'Cancel it, wait until its open rows are skipped, and delete it then.',
  ),
  file_ref_refused: invalid(
    'The file reference cannot be used',
    'Name a file in your tenant’s folder inside the folder that the operator configured (INGEST_FOLDER).',
  ),
});
