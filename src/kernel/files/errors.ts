import { defineErrors } from '../../lib/errors.ts';
import { contentErrors } from '../../lib/formats/errors.ts';

export const fileErrors = defineErrors({
  ...contentErrors.definitions,
  file_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'There is no such file',
    next: 'Check the id; a file is deleted with what it belongs to, and when its retention ends.',
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
    title: 'The file storage is not available',
    next: 'Try again later; jobs wait by themselves. Operators: `sluice doctor` says what is wrong with the storage.',
  },
  storage_key_malformed: {
    kind: 'bug',
    status: 500,
    title: 'A storage key does not have the form that Sluice uses',
    next: 'Storage keys are made by the server and never come from outside. Report it with the request id.',
  },
});
