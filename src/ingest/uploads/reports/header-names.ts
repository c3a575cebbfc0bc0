import { currencyOf } from './values/currencies.ts';

/** A header without case, spaces and punctuation: letters and digits only, as the aliases are stored. */
export function headerKey(text: string): string {
  return foldLetters(text).replaceAll(notLetterOrDigit, '');
}

export interface HeaderName {
  /** The key of the whole header, brackets included. */
  key: string;
  /** The key without its last bracket, if that contains only a currency or a level; else null. */
  plainKey: string | null;
  /** The ISO 4217 code in the last bracket. */
  currency: string | null;
}

/** `Amount spent (AUD)` is `amountspent` in AUD, but `Clicks (all)` is not the same as `Clicks`. */
export function readHeaderName(header: string): HeaderName {
  if (header.length > maxHeaderLength) return { key: '', plainKey: null, currency: null };
  const text = header.normalize('NFKC').trim();
  const [, plain, bracket] = lastBracket.exec(text) ?? [];
  const key = headerKey(text);
  if (plain === undefined || bracket === undefined) return { key, plainKey: null, currency: null };
  const currency = currencyOf(bracket);
  const isHarmless = currency !== null || moneySign.test(bracket) || levels.has(headerKey(bracket));
  return { key, plainKey: isHarmless ? headerKey(plain) : null, currency };
}

/** Lower case without accents: `Día` and `dia`, `İ` and `i`, `Ｄａｙ` and `day` become the same. */
export function foldLetters(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFD')
    .replaceAll(accents, '')
    .normalize('NFC')
    .replaceAll(lettersWithoutAccent, (letter) => substitutes[letter] ?? letter);
}

/** No column has a longer name; a longer text is a cell, which can be very long. */
const maxHeaderLength = 300;
// Only the marks of Latin letters: the voicing marks of kana (U+3099) make a different letter.
const accents = /[\u0300-\u036f]/g;
const notLetterOrDigit = /[^\p{L}\p{N}]+/gu;
const lettersWithoutAccent = /[ıłøßæœ]/g;
const substitutes: Record<string, string> = { ı: 'i', ł: 'l', ø: 'o', ß: 'ss', æ: 'ae', œ: 'oe' };
const lastBracket = /^(.*\S)\s*[([]([^()[\]]*)[)\]]$/su;
const moneySign = /^\s*\p{Sc}\s*$/u;
const levels = new Set(['adlevel', 'adgrouplevel', 'adsetlevel', 'campaignlevel', 'accountlevel']);
