import { defineErrors } from '../errors.ts';

/** Why content of any kind cannot be stored on this machine. */
export const contentErrors = defineErrors({
  file_too_large: {
    kind: 'invalid',
    status: 413,
    title: 'The file is too large',
    next: 'Send a smaller file, split it, or ask the operator to raise MAX_UPLOAD_BYTES.',
  },
  storage_full: {
    kind: 'transient',
    status: 503,
    title: 'There is no room left to store the file',
    next: 'Try again later; nothing was stored. Operators: free space in the data directory, or give it more.',
  },
});
