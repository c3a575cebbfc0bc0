import { defineErrors } from '../../lib/errors.ts';

/** What a caller can do wrong with adapters. */
export const adapterErrors = defineErrors({
  adapter_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'There is no such adapter',
    next: 'Check the name (GET /api/ingestion/adapters lists all), or make it with PUT /api/ingestion/adapters/{name}.',
  },
  adapter_file_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'The adapter has no such file',
    next: 'Check the id; GET /api/ingestion/adapters/{name}/files lists the files.',
  },
  adapter_file_not_failed: {
    kind: 'conflict',
    status: 409,
    title: 'Only a file that failed can be tried again',
    next: 'Look at the state of the file; one that was taken in or waits needs no retry.',
  },
  adapter_limit_reached: {
    kind: 'invalid',
    status: 422,
    title: 'The tenant has as many adapters as it may have',
    next: 'Delete one that is not needed, or ask the operator to raise ADAPTER_MAX_COUNT.',
  },
  adapter_invalid: {
    kind: 'invalid',
    status: 422,
    title: 'The adapter cannot work like this',
    next: 'Correct what the message and `errors` name.',
  },
});

/** Why a scan stopped, or why a file was not taken in. */
export const adapterFailures = defineErrors({
  adapter_folder_missing: {
    kind: 'transient',
    status: 503,
    title: 'The folder of an adapter cannot be read',
    next: 'Make the folder below ADAPTER_FOLDER and give the server the right to read it, or change the path.',
  },
  adapter_unreachable: {
    kind: 'transient',
    status: 503,
    title: 'The server of an adapter cannot be reached',
    next: 'Check host, port and network. Scans go on by themselves; nothing is lost.',
  },
  adapter_refused: {
    kind: 'transient',
    status: 503,
    title: 'The server of an adapter refuses what was asked of it',
    next: 'Check user, password, rights and path; then scan again.',
  },
  adapter_scan_lost: {
    kind: 'transient',
    status: 503,
    title: 'Another scan has taken over',
    next: 'Nothing to do: the other scan goes on, and nothing is taken in twice.',
  },
  adapter_file_unreadable: {
    kind: 'transient',
    status: 503,
    title: 'A file cannot be read',
    next: 'Give the server the right to read it; it is tried again with the next scan.',
  },
  adapter_file_changed: {
    kind: 'transient',
    status: 503,
    title: 'A file changed while it was read',
    next: 'Nothing to do: it is read again once it rests.',
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
    title: 'A file that was to be tried again is not there any more',
    next: 'Put it back where it was, or drop it again.',
  },
  adapter_file_gave_up: {
    kind: 'bug',
    status: 500,
    title: 'A file was given up after too many attempts',
    next: 'Read the last reason and the log of the server, then try the file again.',
  },
});
