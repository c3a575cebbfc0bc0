import { defineErrors } from '../../lib/errors.ts';

export const fileErrors = defineErrors({
  ingest_disabled: {
    kind: 'transient',
    status: 503,
    title: 'Ingesting files is switched off',
    next: 'Ask the operator to set DB_INGEST_ENABLED to true.',
  },
  file_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'There is no such file',
    next: 'Check the id; files are removed with what they belong to and when their retention is over.',
  },
  file_content_missing: {
    kind: 'bug',
    status: 500,
    title: 'The content of a stored file is missing',
    next: 'Restore it from the backup of the data directory, or upload the file again. Report it with the request id.',
  },
  files_unavailable: {
    kind: 'transient',
    status: 503,
    title: 'The storage of files cannot be used now',
    next: 'Try again later; jobs wait by themselves. Operators: `sluice doctor` says what is wrong with the storage.',
  },
  storage_key_malformed: {
    kind: 'bug',
    status: 500,
    title: 'A storage key does not have the shape that Sluice gives them',
    next: 'Storage keys are made by the server and never come from outside. Report it with the request id.',
  },
});
