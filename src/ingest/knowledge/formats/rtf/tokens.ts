export type RtfToken =
  | { kind: 'open' }
  | { kind: 'close' }
  | { kind: 'word'; name: string; value: number | null }
  | { kind: 'byte'; byte: number }
  | { kind: 'text'; bytes: Buffer };

const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const longestWord = 32;

/** What the bytes of an RTF file mean; line ends mean nothing. */
export function* readTokens(bytes: Buffer): Generator<RtfToken> {
  let at = 0;
  while (at < bytes.length) {
    const byte = bytes[at] ?? 0;
    if (byte === openBrace || byte === closeBrace) {
      yield { kind: byte === openBrace ? 'open' : 'close' };
      at += 1;
    } else if (byte === backslash) {
      const { token, end } = control(bytes, at + 1);
      if (token !== null) yield token;
      at = end;
    } else if (byte === 10 || byte === 13 || byte === 0) {
      at += 1;
    } else {
      const end = endOfText(bytes, at);
      yield { kind: 'text', bytes: bytes.subarray(at, end) };
      at = end;
    }
  }
}

function endOfText(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at] ?? 0;
    if (byte === backslash || byte === openBrace || byte === closeBrace || byte === 10 || byte === 13) break;
    at += 1;
  }
  return at;
}

function control(bytes: Buffer, from: number): { token: RtfToken | null; end: number } {
  const first = String.fromCharCode(bytes[from] ?? 0);
  if (first === "'") {
    const byte = Number.parseInt(bytes.toString('latin1', from + 1, from + 3), 16);
    return { token: Number.isNaN(byte) ? null : { kind: 'byte', byte }, end: from + 3 };
  }
  if (!/[A-Za-z]/.test(first)) return { token: symbol(first), end: from + 1 };
  let at = from;
  while (at < bytes.length && at - from < longestWord && isLetter(bytes[at] ?? 0)) at += 1;
  const name = bytes.toString('latin1', from, at);
  const digits = /^-?\d{1,20}/.exec(bytes.toString('latin1', at, at + 21))?.[0] ?? '';
  at += digits.length;
  // One space ends the word and is no text.
  if (bytes[at] === 0x20) at += 1;
  if (name === 'bin') return { token: null, end: at + Math.max(0, Number(digits)) };
  return { token: { kind: 'word', name, value: digits === '' ? null : Number(digits) }, end: at };
}

function symbol(character: string): RtfToken | null {
  if ('\\{}'.includes(character)) return { kind: 'text', bytes: Buffer.from(character) };
  if (character === '\n' || character === '\r') return { kind: 'word', name: 'par', value: null };
  if (character === '-') return null;
  return { kind: 'word', name: character, value: null };
}

function isLetter(byte: number): boolean {
  return (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a);
}
