import { bug, conflict, defineErrors, invalid, notFound, transient } from '../../lib/errors.ts';

/** Errors of requests about adapters. */
export const adapterErrors = defineErrors({
  adapter_not_found: notFound(
    'Adapter not found',
    'Check the name with GET /api/ingestion/adapters, or create it with PUT /api/ingestion/adapters/{name}.',
  ),
  adapter_file_not_found: notFound(
    'The adapter has no file with this id',
    'Check the id; GET /api/ingestion/adapters/{name}/files lists the files.',
  ),
  adapter_file_not_failed: conflict(
    'Only a failed file can be retried',
    'Check the state of the file: one that was ingested or is waiting needs no retry.',
  ),
  adapter_limit_reached: invalid(
    'The tenant has reached its limit of adapters',
    'Delete an adapter that is not needed, or ask the operator to raise ADAPTER_MAX_COUNT.',
  ),
  adapter_invalid: invalid(
    'The adapter’s settings are invalid',
    'Correct the settings that the message and `errors` name.',
  ),
});

/** Why a scan stopped, or why a file was not ingested. */
export const adapterFailures = defineErrors({
  adapter_folder_missing: transient(
    'The adapter’s folder cannot be read',
    'Create the folder inside ADAPTER_FOLDER and let the server read it, or change the path.',
  ),
  adapter_unreachable: transient(
    'The adapter’s server cannot be reached',
    'Check host, port and network. Scans continue automatically; nothing is lost.',
  ),
  adapter_refused: transient(
    'The adapter’s server refused a request',
    'Check user, password, permissions and path, then scan again.',
  ),
  adapter_scan_lost: transient(
    'Another scan has taken over',
    'No action is needed: the other scan continues, and no file is ingested twice.',
  ),
  adapter_file_unreadable: transient(
    'A file cannot be read',
    'Let the server read the file; the next scan tries it again.',
  ),
  adapter_file_changed: transient(
    'A file changed while it was being read',
    'No action is needed: the file is read again once it stops changing.',
  ),
  adapter_file_too_large: invalid(
    'A file is too large',
    'Split it, or ask the operator to raise MAX_UPLOAD_BYTES (items) or MAX_REPORT_BYTES (uploads).',
  ),
  adapter_file_gone: invalid(
    'A file that was to be retried no longer exists',
    'Put the file back where it was, or upload it to the place again.',
  ),
  adapter_file_gave_up: bug(
    'A file was given up after too many attempts',
    'Read the last reason and the server’s log, then retry the file.',
  ),
});
