import { createHash } from 'node:crypto';
import type { Question } from '../types.ts';

/**
 * What two spellings of the same thing have in common. Computed here, in plain ASCII, for products and rows alike: the
 * result must not depend on extensions or the locale of the database. With the locale C the database would treat every
 * letter outside ASCII as a gap between words.
 */
export interface ProductKeys {
  sku: string | null;
  brand: string | null;
  brandTitle: string | null;
  /** For comparing similar titles; empty when there is no title. */
  title: string;
}

export function keysOf({ sku, brand, title }: Question): ProductKeys {
  const brandWords = brandWordsOf(brand ?? '');
  const titleWords = withoutBrand(wordsOf(title ?? ''), brandWords);
  const brandKey = brandWords.join(' ');
  const titleKey = titleWords.join(' ');
  return {
    sku: indexable(wordsOf(sku ?? '', { isCode: true }).join('')),
    brand: brandKey === '' ? null : brandKey,
    brandTitle: brandKey === '' || titleKey === '' ? null : indexable(`${brandKey}|${titleKey}`),
    title: titleKey,
  };
}

/**
 * Variants differ in words with digits: sizes, models, amounts. One of the two titles may leave some of them out. When
 * each has one that the other does not, they are two products, however similar they look.
 */
export function numbersAgree(one: string, other: string): boolean {
  const [here, there] = [numbersOf(one), numbersOf(other)];
  const covers = (all: Set<string>, some: Set<string>) => [...some].every((word) => all.has(word));
  return covers(here, there) || covers(there, here);
}

function numbersOf(titleKey: string): Set<string> {
  return new Set(titleKey.split(' ').filter((word) => /\d/.test(word)));
}

/** A number for a brand of one version; negative, because versions are positive. */
export function brandScope(versionId: number, brandKey: string): string {
  const digest = createHash('sha256').update(`${versionId}|${brandKey}`).digest();
  return String(-1n - BigInt.asUintN(62, digest.readBigUInt64BE(0)));
}

/** Nothing after the first 500 characters of a title tells products apart. */
const maxLength = 500;

function wordsOf(text: string, { isCode = false } = {}): string[] {
  const words = fold(text.slice(0, maxLength))
    .split(' ')
    .filter((word) => word !== '');
  return isCode ? words : withUnits(words);
}

/**
 * Lower case, without accents, one space between words. A letter outside ASCII becomes its code point, written in
 * letters, because digits tell variants of a product apart.
 */
function fold(text: string): string {
  if (!plain.test(text)) return foldAny(text);
  const lower = text.toLowerCase();
  // Most titles have none of these, and one test is cheaper than three replacements.
  return (special.test(lower) ? withMarks(lower) : lower).replace(/[^a-z0-9]+/g, ' ');
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
const plain = /^[\x00-\x7f]*$/;
const special = /['"`]|\d[.,]\d/;

function foldAny(text: string): string {
  return withMarks(text.normalize('NFKD').toLowerCase())
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]/gu, (one) => letters[one] ?? (/[\p{L}\p{N}]/u.test(one) ? lettered(one) : ' '));
}

/** Inches, apostrophes and decimal separators. */
function withMarks(lower: string): string {
  return lower
    .replace(/(?<=\d)\s*(?:"|”|′′|'')/gu, ' in ')
    .replace(/['’`´]/g, '')
    .replace(/(?<=\d)[.,](?=\d)/g, 'p');
}

/** Letters that no decomposition turns into ASCII. */
const letters: Record<string, string> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  ł: 'l',
  þ: 'th',
  ı: 'i',
};

function lettered(letter: string): string {
  const digits = (letter.codePointAt(0) ?? 0).toString(26);
  return [...digits].map((digit) => String.fromCharCode(97 + Number.parseInt(digit, 26))).join('');
}

/** `128 GB` is `128gb`, and a volume or weight is the same in every unit. */
function withUnits(words: readonly string[]): string[] {
  const parts = words.flatMap((word) => (/\dx\d/.test(word) ? word.split(/(?<=\d)(x)(?=\d)/) : word));
  const joined: string[] = [];
  for (const word of parts) {
    const unit = units.get(word);
    const last = joined.at(-1);
    if (unit !== undefined && last !== undefined && /^[\dp]+$/.test(last))
      joined[joined.length - 1] = last + unit;
    else joined.push(word);
  }
  return joined.map(inSmallUnits);
}

const unitNames: Record<string, string[]> = {
  l: ['l', 'ltr', 'liter', 'litre', 'liters', 'litres'],
  dl: ['dl'],
  cl: ['cl'],
  ml: ['ml', 'milliliter', 'millilitre'],
  kg: ['kg', 'kilo', 'kilogram', 'kilograms'],
  g: ['g', 'gr', 'gram', 'grams', 'gramm'],
  mm: ['mm'],
  cm: ['cm'],
  m: ['m', 'meter', 'metre'],
  in: ['in', 'inch', 'inches', 'zoll'],
  kb: ['kb'],
  mb: ['mb'],
  gb: ['gb', 'gigabyte', 'gigabytes'],
  tb: ['tb', 'terabyte'],
  w: ['w', 'watt', 'watts'],
  v: ['v', 'volt', 'volts'],
  mah: ['mah'],
  oz: ['oz', 'ounce', 'ounces'],
  lb: ['lb', 'lbs', 'pound', 'pounds'],
  pc: ['pc', 'pcs', 'piece', 'pieces', 'stk', 'stuck', 'pk', 'pack'],
};
const units = new Map(
  Object.entries(unitNames).flatMap(([unit, names]) => names.map((name) => [name, unit])),
);
const measured = new RegExp(`^(\\d+(?:p\\d+)?)(${[...units.keys()].sort(longestFirst).join('|')})$`);
/** The small unit, and how many of it make one. */
const smallUnits: Record<string, [string, number]> = {
  l: ['ml', 1000],
  dl: ['ml', 100],
  cl: ['ml', 10],
  kg: ['g', 1000],
  cm: ['mm', 10],
};

function inSmallUnits(word: string): string {
  if (word < '0' || word > ':') return word;
  const match = measured.exec(word);
  if (!match) return word;
  const [, amount = '', name = ''] = match;
  const unit = units.get(name) ?? name;
  const small = smallUnits[unit];
  if (!small) return amount + unit;
  const value = Number(amount.replace('p', '.')) * small[1];
  return `${String(Math.round(value * 1000) / 1000).replace('.', 'p')}${small[0]}`;
}

function longestFirst(one: string, other: string): number {
  return other.length - one.length;
}

const legalForms = new Set(['inc', 'ltd', 'llc', 'gmbh', 'ag', 'corp', 'co', 'sa', 'bv', 'plc', 'kg']);

function brandWordsOf(brand: string): string[] {
  const words = wordsOf(brand, { isCode: true });
  const short = words.filter((word, at) => at === 0 || !legalForms.has(word));
  return short.length > 0 ? short : words;
}

/** A title often begins with the brand, which has its own column. */
function withoutBrand(title: readonly string[], brand: readonly string[]): string[] {
  if (brand.length === 0 || title.length <= brand.length) return [...title];
  const at = title.findIndex((_, from) => brand.every((word, index) => title[from + index] === word));
  return at === -1 ? [...title] : title.filter((_, index) => index < at || index >= at + brand.length);
}

/** An index entry has a maximum length; a longer key is replaced by its hash. */
function indexable(key: string): string | null {
  if (key === '') return null;
  return key.length <= 200 ? key : `#${createHash('sha256').update(key).digest('hex')}`;
}
