import { createHash } from 'node:crypto';
import { wellFormed } from '../../../lib/well-formed.ts';

/** Deeper indentation has no meaning, and could fill a chunk with blanks. */
const maxIndentation = 32;

/**
 * The text that is embedded, hashed and returned by searches. The same words give the same text whatever their blanks
 * and encoding. Lines and indentation are kept, because they matter in code.
 */
export function normalise(text: string): string {
  return isNormal.test(text) ? text : normaliseAny(text);
}

/** Most texts that are counted are a few plain words and need no normalisation. */
const isNormal = /^[!-~]+(?: [!-~]+)*$/;

function normaliseAny(text: string): string {
  return wellFormed(text)
    .replace(/\r\n?|[\u2028\u2029\u0085]/g, '\n')
    .replace(unprintable, '')
    .normalize('NFC')
    .replace(/[^\S\n]+/g, (blanks, at: number, whole: string) =>
      at > 0 && whole[at - 1] === '\n' ? indentation(blanks) : ' ',
    )
    .replace(/[ \t]+(?=\n)/g, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

/** On one line, with a limited length. */
export function normaliseTitle(text: string): string {
  const line = normalise(text.slice(0, maxTitleUnits * 2)).replace(/\s+/g, ' ');
  return line.length <= maxTitleUnits ? line : `${line.slice(0, safeCut(line, maxTitleUnits - 1))}…`;
}

const maxTitleUnits = 300;

/** The same position, or one unit earlier if it would split a surrogate pair. */
export function safeCut(text: string, at: number): number {
  const isLow = (text.charCodeAt(at) & 0xfc00) === 0xdc00;
  return at > 0 && isLow && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800 ? at - 1 : at;
}

/** White space as in JavaScript, by code unit: a regular expression per character would be slow. */
export function isBlank(unit: number): boolean {
  if (unit <= 0x20) return unit === 0x20 || (unit >= 9 && unit <= 13);
  if (unit < 0xa0) return false;
  return (
    unit === 0xa0 ||
    unit === 0x1680 ||
    (unit >= 0x2000 && unit <= 0x200a) ||
    unit === 0x2028 ||
    unit === 0x2029 ||
    unit === 0x202f ||
    unit === 0x205f ||
    unit === 0x3000 ||
    unit === 0xfeff
  );
}

// Control characters (PostgreSQL refuses NUL), byte order marks and soft hyphens, which only hide that words are equal.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const unprintable = /[\u0000-\u0008\u000e-\u001f\u007f-\u0084\u0086-\u009f\u00ad\ufeff]/g;

function indentation(blanks: string): string {
  return blanks.slice(0, maxIndentation).replace(/[^\t]/g, ' ');
}

/** SHA-256 in hex. The text must be normalised: the hash decides whether it was embedded before. */
export function contentHash(normalisedText: string): string {
  return createHash('sha256').update(normalisedText, 'utf8').digest('hex');
}
