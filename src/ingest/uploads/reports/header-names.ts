import { currencyOf } from './values/currencies.ts';

/** A header as the aliases know it: letters and digits only, so that case, spaces and punctuation do not count. */
export function headerKey(text: string): string {
  return foldLetters(text).replaceAll(notLetterOrDigit, '');
}

export interface HeaderName {
  /** Of the whole header, brackets included. */
  key: string;
  /** Without its last bracket, when that holds nothing but a currency or a level; else null. */
  plainKey: string | null;
  /** ISO 4217, from the last bracket. */
  currency: string | null;
}

/** `Amount spent (AUD)` is `amountspent` in AUD; `Clicks (all)` stays another thing than `Clicks`. */
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

/** Lower case, without accents: `Día` and `dia`, `İ` and `i`, `Ｄａｙ` and `day` are the same. */
export function foldLetters(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFD')
    .replaceAll(accents, '')
    .normalize('NFC')
    .replaceAll(lettersWithoutAccent, (letter) => substitutes[letter] ?? letter);
}

/** No column is called so: a cell of text below a title, perhaps as long as a cell may be. */
const maxHeaderLength = 300;
// Only the marks of Latin letters: the voicing marks of kana (U+3099) make another letter.
const accents = /[\u0300-\u036f]/g;
const notLetterOrDigit = /[^\p{L}\p{N}]+/gu;
const lettersWithoutAccent = /[ıłøßæœ]/g;
const substitutes: Record<string, string> = { ı: 'i', ł: 'l', ø: 'o', ß: 'ss', æ: 'ae', œ: 'oe' };
const lastBracket = /^(.*\S)\s*[([]([^()[\]]*)[)\]]$/su;
const moneySign = /^\s*\p{Sc}\s*$/u;
const levels = new Set(['adlevel', 'adgrouplevel', 'adsetlevel', 'campaignlevel', 'accountlevel']);
