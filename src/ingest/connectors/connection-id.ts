/**
 * One connection must not be enrolled twice under two spellings: a UUID is the same in either case, with or without
 * dashes, in braces and as a URN. Other ids stay as they are.
 */
export function canonicalConnectionId(id: string): string {
  const bare = id
    .normalize('NFKC')
    .toLowerCase()
    .replace(/^urn:uuid:/, '')
    .replace(/^\{(.*)\}$/, '$1')
    .replaceAll('-', '');
  const groups = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/.exec(bare);
  return groups === null ? id : groups.slice(1).join('-');
}

/** Invisible characters would make two ids look like one. */
export function hasHiddenCharacters(id: string): boolean {
  return /^[\s\p{Z}]|[\s\p{Z}]$|\p{Cf}/u.test(id);
}
