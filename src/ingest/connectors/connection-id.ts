/**
 * One connection must not be enrolled twice under two spellings: a UUID is the same in either case, with or without
 * dashes, in braces and as a URN. Other ids stay as they are.
 */
export function canonicalConnectionId(id: string): string {
  return uuidOf(id) ?? id;
}

export function isConnectionId(id: string): boolean {
  return uuidOf(id) !== null;
}

function uuidOf(id: string): string | null {
  const bare = id
    .normalize('NFKC')
    .toLowerCase()
    .replace(/^urn:uuid:/, '')
    .replace(/^\{(.*)\}$/, '$1')
    .replaceAll('-', '');
  const groups = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/.exec(bare);
  return groups === null ? null : groups.slice(1).join('-');
}

/** Invisible characters would make two ids look like one. */
export function hasHiddenCharacters(id: string): boolean {
  return /^[\s\p{Z}]|[\s\p{Z}]$|\p{Cf}/u.test(id);
}
