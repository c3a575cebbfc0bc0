/**
 * Encodings of spreadsheets in languages that Windows-1252 and Shift_JIS do not cover. Bytes do not tell them apart:
 * nearly every text is valid in all of them. The one in which the platform knows the most columns is used.
 */
export const codePages = [
  'windows-1250',
  'windows-1251',
  'windows-1254',
  'windows-1256',
  'windows-1258',
  'gbk',
  'big5',
  'euc-kr',
] as const;
export type CodePage = (typeof codePages)[number];
export type DoubleByte = 'shift_jis' | 'gbk' | 'big5' | 'euc-kr';

/** Which bytes begin a pair, and which end one. Pairs that no character has become U+FFFD. */
interface Shape {
  isLead: (byte: number) => boolean;
  isTrail: (byte: number) => boolean;
}

const shapes: Record<DoubleByte, Shape> = {
  shift_jis: {
    isLead: (byte) => (byte >= 0x81 && byte <= 0x9f) || (byte >= 0xe0 && byte <= 0xfc),
    isTrail: (byte) => byte >= 0x40 && byte <= 0xfc && byte !== 0x7f,
  },
  gbk: { isLead: isHigh, isTrail: (byte) => byte >= 0x40 && byte <= 0xfe && byte !== 0x7f },
  big5: {
    isLead: isHigh,
    isTrail: (byte) => (byte >= 0x40 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xfe),
  },
  // The letters between A and Z belong to Microsoft's extension, which Windows calls 949.
  'euc-kr': {
    isLead: isHigh,
    isTrail: (byte) =>
      (byte >= 0x81 && byte <= 0xfe) || (byte >= 0x41 && byte <= 0x7a && (byte <= 0x5a || byte >= 0x61)),
  },
};

function isHigh(byte: number): boolean {
  return byte >= 0x81 && byte <= 0xfe;
}

export const isShiftJisLead = shapes.shift_jis.isLead;
export const isShiftJisTrail = shapes.shift_jis.isTrail;

export function isDoubleByte(encoding: string): encoding is DoubleByte {
  return Object.hasOwn(shapes, encoding);
}

/**
 * How many bytes the character at `at` has. A lead byte without a trail byte is one replaced character, so that a
 * delimiter or line break after it is not lost.
 */
export function pairLength(bytes: Buffer, at: number, encoding: DoubleByte): 1 | 2 {
  const { isLead, isTrail } = shapes[encoding];
  return isLead(bytes[at] ?? 0) && isTrail(bytes[at + 1] ?? 0) ? 2 : 1;
}

/** Every character becomes one UTF-16 unit. Resuming by byte needs that, and TextDecoder does not guarantee it. */
export function decodeDoubleByte(bytes: Buffer, encoding: DoubleByte): string {
  const { singles, pairs } = unitsOf(encoding);
  const { isLead, isTrail } = shapes[encoding];
  const units = new Uint16Array(bytes.length);
  let count = 0;
  for (let at = 0; at < bytes.length; count += 1) {
    const byte = bytes[at] ?? 0;
    const next = bytes[at + 1] ?? 0;
    if (byte >= 0x80 && isLead(byte) && isTrail(next)) {
      units[count] = pairs[byte * 256 + next] ?? replacement;
      at += 2;
    } else {
      units[count] = singles[byte] ?? replacement;
      at += 1;
    }
  }
  return Buffer.from(units.buffer, 0, count * 2).toString('utf16le');
}

/** One byte per character; those that the encoding does not define become U+FFFD. */
export function decodeSingleByte(bytes: Buffer, encoding: CodePage): string {
  const singles = singlesOf(encoding);
  const units = new Uint16Array(bytes.length);
  for (let at = 0; at < bytes.length; at += 1) units[at] = singles[bytes[at] ?? 0] ?? replacement;
  return Buffer.from(units.buffer).toString('utf16le');
}

const replacement = 0xfffd;

interface Units {
  singles: Uint16Array;
  pairs: Uint16Array;
}

const tables = new Map<DoubleByte, Units>();
const singleTables = new Map<string, Uint16Array>();

/** The UTF-16 unit of each byte, and of each pair of lead and trail byte. Built when first needed. */
function unitsOf(encoding: DoubleByte): Units {
  const known = tables.get(encoding);
  if (known !== undefined) return known;
  const { isLead, isTrail } = shapes[encoding];
  const keys: number[] = [];
  for (let key = 0x8000; key <= 0xffff; key += 1) if (isLead(key >> 8) && isTrail(key & 0xff)) keys.push(key);
  const characters = decodeEach(
    encoding,
    keys.map((key) => [key >> 8, key & 0xff]),
  );
  const pairs = new Uint16Array(65_536).fill(replacement);
  for (const [at, key] of keys.entries()) pairs[key] = unitOf(characters[at]);
  const units = { singles: singlesOf(encoding), pairs };
  tables.set(encoding, units);
  return units;
}

function singlesOf(encoding: string): Uint16Array {
  const known = singleTables.get(encoding);
  if (known !== undefined) return known;
  const high = Array.from({ length: 128 }, (_, at) => at + 128);
  const characters = decodeEach(
    encoding,
    high.map((byte) => [byte]),
  );
  const singles = Uint16Array.from({ length: 256 }, (_, byte) =>
    byte < 128 ? byte : unitOf(characters[byte - 128]),
  );
  singleTables.set(encoding, singles);
  return singles;
}

/** Decodes all of them at once; line breaks isolate what is invalid. */
function decodeEach(encoding: string, each: number[][]): string[] {
  const bytes = each.flatMap((one) => [...one, 0x0a]);
  return new TextDecoder(encoding).decode(Uint8Array.from(bytes)).split('\n');
}

const unitOf = (character = '') => (character.length === 1 ? character.charCodeAt(0) : replacement);
