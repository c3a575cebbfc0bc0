import { foldLetters } from '../header-names.ts';
import { copyOf } from '../shown-text.ts';
import { withLatinDigits } from './digits.ts';

/** The order of day and month in `03/04/2026`. */
export type DateOrder = 'dmy' | 'mdy';

export interface DateFault {
  code: 'invalid_date' | 'ambiguous_date';
  message: string;
}

/** The year that a spreadsheet counts its days from. */
export type SerialDays = 1900 | 1904;

/**
 * The day as YYYY-MM-DD, as written: never shifted to another time zone. The file's order decides which part of
 * `03/04/2026` is the day; when it is null, such a date is ambiguous.
 */
export function readDate(text: string, order: DateOrder | null): string | DateFault {
  if (isIsoDay(text))
    return realDay(slice(text, 0, 4), slice(text, 5, 7), slice(text, 8, 10)) ?? faults.invalid;
  if (text.length > maxDateLength) return faults.invalid;
  const tidied = withLatinDigits(text.normalize('NFKC')).trim();
  const clock = timeOfDay.exec(tidied);
  const day = clock === null ? tidied : tidied.slice(0, clock.index);
  return readNumericDate(day, order) ?? readNamedDate(day) ?? faults.invalid;
}

/** The hour in a cell with a day and an hour, such as `2026-03-27 13:00:00`; null at midnight and without one. */
export function clockOf(text: string): string | null {
  if (text.length <= 10 || text.length > maxDateLength || !text.includes(':')) return null;
  const [, written = '', half = ''] = timeOfDay.exec(text.normalize('NFKC').trim()) ?? [];
  const clock = half === '' ? written : inTwentyFour(written, half);
  return /[1-9]/.test(clock) ? clock : null;
}

/** `1:00:00` in the afternoon as `13:00:00`, and `12:00:00` in the morning as midnight. */
function inTwentyFour(clock: string, half: string): string {
  const [hour = '', ...rest] = clock.split(':');
  const hours = (Number(hour) % 12) + (/^p/i.test(half) ? 12 : 0);
  return [String(hours).padStart(2, '0'), ...rest].join(':');
}

/** A cache in front of `readDate`: a report names few days many times. */
export function dateReader(
  order: DateOrder | null,
  serialDays: SerialDays | null = null,
): (text: string) => string | DateFault {
  const known = new Map<string, string | DateFault>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const read = readSerialDay(text, serialDays) ?? readDate(text, order);
    // Bounded, or a column of garbage would fill the memory.
    if (known.size >= maxKnownDates) known.clear();
    known.set(copyOf(text), read);
    return read;
  };
}

/** The order that a text with dates (a cell, a title line) proves; null when it proves none or both. */
export function orderEvidence(evidence: string): DateOrder | null {
  const text = evidence.slice(0, maxEvidenceLength);
  const found = new Set<DateOrder>();
  for (const [, first, second] of text.normalize('NFKC').matchAll(numericDates)) {
    if (Number(first) > 12) found.add('dmy');
    if (Number(second) > 12) found.add('mdy');
  }
  for (const [, word = ''] of text.matchAll(/(\p{L}{3,})\.? \d{1,2}, \d{4}/gu)) {
    if (monthOf(word) !== null) found.add('mdy');
  }
  for (const [, word = ''] of text.matchAll(/\d{1,2} (\p{L}{3,})\.? \d{4}/gu)) {
    if (monthOf(word) !== null) found.add('dmy');
  }
  const [only = null] = found;
  return found.size === 1 ? only : null;
}

/** The order that a cell with one date proves; `either` when its meaning depends on the order. */
export function cellOrder(cell: string): DateOrder | 'either' | null {
  // ISO dates, points and months in words, which most files have, neither prove nor need an order.
  if (cell.charCodeAt(4) === 45 || !numbersFirst.test(cell)) return null;
  const read = readDate(cell, null);
  if (typeof read === 'string') return orderEvidence(cell);
  return read.code === 'ambiguous_date' ? 'either' : null;
}

/** `46082` in a sheet whose cells have no date format; five digits are the days from 1927 to 2173. */
function readSerialDay(text: string, serialDays: SerialDays | null): string | null {
  if (serialDays === null || !/^\d{5}$/.test(text)) return null;
  const start = serialDays === 1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, 30);
  const day = new Date(start + Number(text) * 86_400_000).toISOString().slice(0, 10);
  return day < '2000-01-01' ? null : day;
}

// Full-width forms included.
const numbersFirst = /^\s*[\d\uff10-\uff19]{1,2}[/\-\uff0f\uff0d]/;
const maxKnownDates = 20_000;
const maxDateLength = 64;
// Searching a title of the maximum cell length for words would take minutes.
const maxEvidenceLength = 1_000;
const numericDates = /(?<!\d)(\d{1,2})[/-](\d{1,2})[/-]\d{4}(?!\d)/g;
const timeOfDay =
  /[T ](\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(?: ?([AP]\.?M\.?))?(?: ?(?:Z|UTC|[+-]\d{2}:?\d{2}))?$/i;

const slice = (text: string, from: number, to: number) => Number(text.slice(from, to));

function isIsoDay(text: string): boolean {
  if (text.length !== 10) return false;
  for (let at = 0; at < 10; at += 1) {
    const code = text.charCodeAt(at);
    if (at === 4 || at === 7 ? code !== 45 : code < 48 || code > 57) return false;
  }
  return true;
}

function readNumericDate(text: string, order: DateOrder | null): string | DateFault | null {
  const match = yearFirst.exec(text);
  if (match !== null) {
    const [year, month, day] = match.slice(1).filter((part) => part !== undefined);
    return realDay(Number(year), Number(month), Number(day)) ?? faults.invalid;
  }
  const [, first, mark, second, year] = yearLast.exec(text) ?? [];
  if (first === undefined || second === undefined) return null;
  const parts = { first: Number(first), second: Number(second), year: Number(year) };
  // Dates with points always have the order day, month, year.
  return mark === '.' ? inOrder(parts, 'dmy') : readYearLast(parts, order);
}

const yearFirst = new RegExp(
  [
    String.raw`^(?:(\d{4})[-/.] ?(\d{1,2})[-/.] ?(\d{1,2})\.?`,
    String.raw`|(\d{4})(\d{2})(\d{2})`,
    String.raw`|(\d{4}) ?[年년] ?(\d{1,2}) ?[月월] ?(\d{1,2}) ?[日일])$`,
  ].join(''),
);
const yearLast = /^(\d{1,2})([-/.]) ?(\d{1,2})\2 ?(\d{4})$/;

interface YearLast {
  first: number;
  second: number;
  year: number;
}

function readYearLast(parts: YearLast, order: DateOrder | null): string | DateFault {
  if (order !== null) return inOrder(parts, order);
  if (parts.first === parts.second || parts.first > 12) return inOrder(parts, 'dmy');
  return parts.second > 12 ? inOrder(parts, 'mdy') : faults.ambiguous;
}

function inOrder({ first, second, year }: YearLast, order: DateOrder): string | DateFault {
  const read = order === 'dmy' ? realDay(year, second, first) : realDay(year, first, second);
  return read ?? (order === 'dmy' ? faults.notInDmy : faults.notInMdy);
}

/** `Mar 27, 2026`, `27 de marzo de 2026`, `27. März 2026`, `Fri, 27 Mar 2026`. */
function readNamedDate(text: string): string | null {
  const folded = foldLetters(text);
  const [, ofMonth, numbered, ofYear] = vietnamese.exec(folded) ?? [];
  if (ofMonth !== undefined) return realDay(Number(ofYear), Number(numbered), Number(ofMonth));
  const words = folded.split(/[^\p{L}\p{N}]+/u);
  let day: number | null = null;
  let month: number | null = null;
  let year: number | null = null;
  for (const word of words) {
    if (word === '' || fillers.has(word)) continue;
    const named: number | null = month === null ? monthOf(word) : null;
    if (named !== null) month = named;
    else if (/^\d{4}$/.test(word) && year === null) year = Number(word);
    else if (/^\d{1,2}(?:st|nd|rd|th|er|º|o)?$/.test(word) && day === null) day = Number.parseInt(word, 10);
    else return null;
  }
  return day === null || month === null || year === null ? null : realDay(year, month, day);
}

/** `27 tháng 3, 2026`, folded. */
const vietnamese = /^(?:ngay )?(\d{1,2}),? (?:thang|thg) (\d{1,2}),? (?:nam )?(\d{4})$/;

/** The month, 1 to 12, that a word names in one of the known languages, or null. */
function monthOf(word: string): number | null {
  return months.get(foldLetters(word)) ?? null;
}

/** Each line is one language, or its abbreviations, from January to December. */
const calendars = [
  'january february march april may june july august september october november december',
  'jan feb mar apr may jun jul aug sep oct nov dec',
  'januar februar märz april mai juni juli august september oktober november dezember',
  'jänner feber mrz apr mai jun jul aug sept okt nov dez',
  'janvier février mars avril mai juin juillet août septembre octobre novembre décembre',
  'janv févr mars avr mai juin juil août sept oct nov déc',
  'enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre',
  'ene feb mar abr may jun jul ago set oct nov dic',
  'janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro',
  'jan fev mar abr mai jun jul ago set out nov dez',
  'gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre',
  'gen feb mar apr mag giu lug ago set ott nov dic',
  'januari februari maart april mei juni juli augustus september oktober november december',
  'jan feb mrt apr mei jun jul aug sep okt nov dec',
  'stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia',
  'styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad grudzień',
  'sty lut mar kwi maj cze lip sie wrz paź lis gru',
  'ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık',
  'oca şub mar nis may haz tem ağu eyl eki kas ara',
  'января февраля марта апреля мая июня июля августа сентября октября ноября декабря',
  'январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь',
  'янв февр мар апр май июн июл авг сент окт нояб дек',
  'янв фев мар апр мая июн июл авг сен окт ноя дек',
  'januari februari maret april mei juni juli agustus september oktober november desember',
  'jan feb mar apr mei jun jul agu sep okt nov des',
  'يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر',
];

const months = new Map(
  calendars.flatMap((calendar) =>
    calendar.split(' ').map((name, index): [string, number] => [foldLetters(name), index + 1]),
  ),
);

const fillers = new Set(
  [
    'de del of the den am le г года mon tue wed thu fri sat sun',
    'monday tuesday wednesday thursday friday saturday sunday',
  ].flatMap((line) => line.split(' ')),
);

function realDay(year: number, month: number, day: number): string | null {
  if (year < 2000 || year > 2199 || month < 1 || month > 12 || day < 1) return null;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const length = month === 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
  if (day > length) return null;
  return `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
}

const faults = {
  invalid: {
    code: 'invalid_date',
    message: 'This is not a date between 2000 and 2199. Write it as YYYY-MM-DD, for example 2026-03-27.',
  },
  notInDmy: {
    code: 'invalid_date',
    message:
      'This is not a valid date in the order day/month/year, which the rest of the file uses. Write it as YYYY-MM-DD.',
  },
  notInMdy: {
    code: 'invalid_date',
    message:
      'This is not a valid date in the order month/day/year, which the rest of the file uses. Write it as YYYY-MM-DD.',
  },
  ambiguous: {
    code: 'ambiguous_date',
    message:
      'Day and month cannot be told apart here, and nothing in the file shows their order. Export with dates such as ' +
      '2026-03-27.',
  },
} as const satisfies Record<string, DateFault>;
