import { defineErrors, invalid, transient } from '../errors.ts';

/** Why content of any kind cannot be stored on this machine. */
export const contentErrors = defineErrors({
  file_too_large: invalid(
    'The file is too large',
    'Send a smaller file, split it, or ask the operator to raise MAX_UPLOAD_BYTES.',
    413,
  ),
  storage_full: transient(
    'There is no room left to store the file',
    'Try again later; nothing was stored. Operators: free space in the data directory, or give it more.',
  ),
});
