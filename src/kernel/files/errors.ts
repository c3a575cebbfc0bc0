import { bug, defineErrors, notFound, transient } from '../../lib/errors.ts';

export const fileErrors = defineErrors({
  ingest_disabled: transient(
    'Ingesting files is switched off',
    'Ask the operator to set DB_INGEST_ENABLED to true.',
  ),
  file_not_found: notFound(
    'There is no such file',
    'Check the id; a file is deleted with what it belongs to, and when its retention ends.',
  ),
  file_content_missing: bug(
    'The content of a stored file is missing',
    'Restore it from the backup of the data directory, or upload the file again. Report it with the request id.',
  ),
  files_unavailable: transient(
    'The file storage is not available',
    'Try again later; jobs wait by themselves. Operators: `sluice doctor` says what is wrong with the storage.',
  ),
  storage_key_malformed: bug(
    'A storage key does not have the form that Sluice uses',
    'Storage keys are made by the server and never come from outside. Report it with the request id.',
  ),
});
