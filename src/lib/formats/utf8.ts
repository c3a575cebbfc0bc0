/** How many bytes the UTF-8 character at `at` has; 0 when there is no complete one. */
export function utf8Length(bytes: Buffer, at: number): number {
  const lead = bytes[at] ?? 0xff;
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const second = bytes[at + 1] ?? 0;
  if (!isContinuation(second)) return 0;
  if (lead < 0xe0) return 2;
  if (!isContinuation(bytes[at + 2] ?? 0) || !isSecondAllowed(lead, second)) return 0;
  if (lead < 0xf0) return 3;
  return isContinuation(bytes[at + 3] ?? 0) ? 4 : 0;
}

/** The length of the longest start that does not end inside a character. */
export function wholeUtf8Bytes(bytes: Buffer): number {
  const end = bytes.length;
  for (let back = 1; back <= 3 && back <= end; back += 1) {
    const byte = bytes[end - back] ?? 0;
    if (byte < 0x80) return end;
    if (byte >= 0xc0) return announcedLength(byte) > back ? end - back : end;
  }
  return end;
}

/** Each byte that belongs to no character becomes one U+FFFD. */
export function decodeBrokenUtf8(bytes: Buffer): string {
  const parts: string[] = [];
  let validFrom = 0;
  let at = 0;
  while (at < bytes.length) {
    const length = utf8Length(bytes, at);
    at += Math.max(length, 1);
    if (length > 0) continue;
    parts.push(bytes.toString('utf8', validFrom, at - 1), '\ufffd');
    validFrom = at;
  }
  parts.push(bytes.toString('utf8', validFrom));
  return parts.join('');
}

function isContinuation(byte: number): boolean {
  return byte >= 0x80 && byte < 0xc0;
}

/** The second byte excludes overlong forms, surrogates and everything beyond U+10FFFF. */
function isSecondAllowed(lead: number, second: number): boolean {
  if (lead === 0xe0) return second >= 0xa0;
  if (lead === 0xed) return second < 0xa0;
  if (lead === 0xf0) return second >= 0x90;
  return lead !== 0xf4 || second < 0x90;
}

function announcedLength(lead: number): number {
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}
