import { defineErrors } from '../../lib/errors.ts';

/** Errors of requests about adapters. */
export const adapterErrors = defineErrors({
  adapter_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'Adapter not found',
    next: 'Check the name with GET /api/ingestion/adapters, or create it with PUT /api/ingestion/adapters/{name}.',
  },
  adapter_file_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'The adapter has no file with this id',
    next: 'Check the id; GET /api/ingestion/adapters/{name}/files lists the files.',
  },
  adapter_file_not_failed: {
    kind: 'conflict',
    status: 409,
    title: 'Only a failed file can be retried',
    next: 'Check the state of the file: one that was ingested or is waiting needs no retry.',
  },
  adapter_limit_reached: {
    kind: 'invalid',
    status: 422,
    title: 'The tenant has reached its limit of adapters',
    next: 'Delete an adapter that is not needed, or ask the operator to raise ADAPTER_MAX_COUNT.',
  },
  adapter_invalid: {
    kind: 'invalid',
    status: 422,
    title: 'The adapter’s settings are invalid',
    next: 'Correct the settings that the message and `errors` name.',
  },
});

/** Why a scan stopped, or why a file was not ingested. */
export const adapterFailures = defineErrors({
  adapter_folder_missing: {
    kind: 'transient',
    status: 503,
    title: 'The adapter’s folder cannot be read',
    next: 'Create the folder inside ADAPTER_FOLDER and let the server read it, or change the path.',
  },
  adapter_unreachable: {
    kind: 'transient',
    status: 503,
    title: 'The adapter’s server cannot be reached',
    next: 'Check host, port and network. Scans continue automatically; nothing is lost.',
  },
  adapter_refused: {
    kind: 'transient',
    status: 503,
    title: 'The adapter’s server refused a request',
    next: 'Check user, password, permissions and path, then scan again.',
  },
  adapter_scan_lost: {
    kind: 'transient',
    status: 503,
    title: 'Another scan has taken over',
    next: 'No action is needed: the other scan continues, and no file is ingested twice.',
  },
  adapter_file_unreadable: {
    kind: 'transient',
    status: 503,
    title: 'A file cannot be read',
    next: 'Let the server read the file; the next scan tries it again.',
  },
  adapter_file_changed: {
    kind: 'transient',
    status: 503,
    title: 'A file changed while it was being read',
    next: 'No action is needed: the file is read again once it stops changing.',
  },
  adapter_file_too_large: {
    kind: 'invalid',
    status: 422,
    title: 'A file is too large',
    next: 'Split it, or ask the operator to raise MAX_UPLOAD_BYTES (items) or MAX_REPORT_BYTES (uploads).',
  },
  adapter_file_gone: {
    kind: 'invalid',
    status: 422,
    title: 'A file that was to be retried no longer exists',
    next: 'Put the file back where it was, or upload it to the place again.',
  },
  adapter_file_gave_up: {
    kind: 'bug',
    status: 500,
    title: 'A file was given up after too many attempts',
    next: 'Read the last reason and the server’s log, then retry the file.',
  },
});
