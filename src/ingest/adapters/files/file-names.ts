/** Names that programs give to files which they still write. */
const unfinished = /\.(?:part|partial|tmp|temp|filepart|crdownload|swp)$/i;
const maxPathBytes = 1_024;

/** Whether a scan looks at a file of this name at all. */
export function isWanted(name: string, pattern: string | null): boolean {
  if (name.startsWith('.') || unfinished.test(name)) return false;
  // What no row can hold, and what could be read as a further command by an FTP server.
  if (/[\p{Cc}\p{Cs}]/u.test(name) || Buffer.byteLength(name) > maxPathBytes) return false;
  return pattern === null || matches(name, pattern);
}

/** `*` stands for any characters, `?` for one; no letter case. Takes no longer than name times pattern. */
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
      // The last star takes one character more.
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

/** Where a file goes when it was dealt with. A name that is taken gets a part of the file's id. */
export function asidePath(
  name: string,
  { folder, fileId, isTaken }: { folder: 'done' | 'failed'; fileId: string; isTaken: boolean },
): string {
  if (!isTaken) return `${folder}/${name}`;
  const dot = name.lastIndexOf('.');
  const [stem, ending] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
  return `${folder}/${stem}.${fileId.slice(-12)}${ending}`;
}
