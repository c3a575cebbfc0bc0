const replacement = 0xfffd;
const firstHalfwidth = 0xff61;

/** The UTF-16 unit of each pair of lead and trail byte, or 0. Built when first needed. */
let pairs: Uint16Array | null = null;

export function isShiftJisLead(byte: number): boolean {
  return (byte >= 0x81 && byte <= 0x9f) || (byte >= 0xe0 && byte <= 0xfc);
}

export function isShiftJisTrail(byte: number): boolean {
  return byte >= 0x40 && byte <= 0xfc && byte !== 0x7f;
}

/**
 * How many bytes the character at `at` has. A lead byte without a trail byte is one replaced character, so that a
 * delimiter or line break after it is not lost.
 */
export function shiftJisLength(bytes: Buffer, at: number): 1 | 2 {
  const byte = bytes[at] ?? 0;
  return isShiftJisLead(byte) && isShiftJisTrail(bytes[at + 1] ?? 0) ? 2 : 1;
}

/** Every character becomes one UTF-16 unit. Resuming by byte needs that, and TextDecoder does not guarantee it. */
export function decodeShiftJis(bytes: Buffer): string {
  const table = shiftJisPairs();
  const units = new Uint16Array(bytes.length);
  let count = 0;
  for (let at = 0; at < bytes.length; count += 1) {
    const byte = bytes[at] ?? 0;
    if (byte < 0x80) {
      units[count] = byte;
      at += 1;
    } else if (shiftJisLength(bytes, at) === 2) {
      units[count] = table[byte * 256 + (bytes[at + 1] ?? 0)] || replacement;
      at += 2;
    } else {
      const isHalfwidth = byte >= 0xa1 && byte <= 0xdf;
      units[count] = isHalfwidth ? firstHalfwidth + byte - 0xa1 : replacement;
      at += 1;
    }
  }
  return Buffer.from(units.buffer, 0, count * 2).toString('utf16le');
}

/** Decodes all pairs at once with TextDecoder; line breaks isolate invalid pairs. */
function shiftJisPairs(): Uint16Array {
  if (pairs !== null) return pairs;
  const keys: number[] = [];
  const bytes: number[] = [];
  for (let lead = 0x81; lead <= 0xfc; lead += 1) {
    for (let trail = 0x40; trail <= 0xfc && isShiftJisLead(lead); trail += 1) {
      if (!isShiftJisTrail(trail)) continue;
      keys.push(lead * 256 + trail);
      bytes.push(lead, trail, 0x0a);
    }
  }
  const characters = new TextDecoder('shift_jis').decode(Uint8Array.from(bytes)).split('\n');
  const table = new Uint16Array(65_536);
  for (const [at, key] of keys.entries()) {
    const character = characters[at] ?? '';
    if (character.length === 1) table[key] = character.charCodeAt(0);
  }
  pairs = table;
  return table;
}
