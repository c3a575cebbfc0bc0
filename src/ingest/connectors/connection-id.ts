/**
 * One connection must not be enrolled twice by its spelling: a UUID is the same in either case, with or without
 * dashes, in braces and as a URN. Other ids are as they are.
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

/** What nobody sees would make two ids of one. */
export function hasHiddenCharacters(id: string): boolean {
  return /^[\s\p{Z}]|[\s\p{Z}]$|\p{Cf}/u.test(id);
}
