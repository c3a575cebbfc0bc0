export interface MarkedEncoding {
  encoding: 'utf-8' | 'utf-16le' | 'utf-16be';
  bomBytes: number;
}

/** The encoding that a byte order mark names, or null without one. */
export function findByteOrderMark(start: Uint8Array): MarkedEncoding | null {
  if (start[0] === 0xef && start[1] === 0xbb && start[2] === 0xbf) return { encoding: 'utf-8', bomBytes: 3 };
  if (start[0] === 0xff && start[1] === 0xfe) return { encoding: 'utf-16le', bomBytes: 2 };
  if (start[0] === 0xfe && start[1] === 0xff) return { encoding: 'utf-16be', bomBytes: 2 };
  return null;
}
