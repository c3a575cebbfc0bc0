import { defineErrors } from '../../lib/errors.ts';

export const fileErrors = defineErrors({
  file_too_large: {
    kind: 'invalid',
    status: 413,
    title: 'The file is too large',
    next: 'Send a smaller file, split it, or ask the operator to raise MAX_UPLOAD_BYTES.',
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
  storage_full: {
    kind: 'transient',
    status: 503,
    title: 'There is no room left to store the file',
    next: 'Try again later; nothing was stored. Operators: free space in the data directory, or give it more.',
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
