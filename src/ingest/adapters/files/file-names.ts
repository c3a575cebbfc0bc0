/** Names that programs use for files they are still writing. */
const unfinished = /\.(?:part|partial|tmp|temp|filepart|crdownload|swp)$/i;
const maxPathBytes = 1_024;

/** Whether a scan considers a file with this name. */
export function isWanted(name: string, pattern: string | null): boolean {
  if (name.startsWith('.') || unfinished.test(name)) return false;
  // These cannot be stored, or an FTP server could read them as another command.
  if (/[\p{Cc}\p{Cs}]/u.test(name) || Buffer.byteLength(name) > maxPathBytes) return false;
  return pattern === null || matches(name, pattern);
}

/** `*` matches any characters, `?` one; case is ignored. Takes at most name length times pattern length. */
export function matches(name: string, pattern: string): boolean {
  const text = [...name.toLowerCase()];
  const wanted = [...pattern.toLowerCase()];
  let at = 0;
  let look = 0;
  let star = -1;
  let from = 0;
  while (at < text.length) {
    if (wanted[look] === '*') {
      star = look;
      from = at;
      look += 1;
    } else if (look < wanted.length && (wanted[look] === '?' || wanted[look] === text[at])) {
      at += 1;
      look += 1;
    } else if (star >= 0) {
      // Let the last star match one more character.
      from += 1;
      at = from;
      look = star + 1;
    } else {
      return false;
    }
  }
  while (wanted[look] === '*') look += 1;
  return look === wanted.length;
}

/** Where a processed file is moved to. If the name is taken, part of the file's id is added. */
export function asidePath(
  name: string,
  { folder, fileId, isTaken }: { folder: 'done' | 'failed'; fileId: string; isTaken: boolean },
): string {
  if (!isTaken) return `${folder}/${name}`;
  const dot = name.lastIndexOf('.');
  const [stem, ending] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
  return `${folder}/${stem}.${fileId.slice(-12)}${ending}`;
}
