import { Unsupported } from './unsupported.ts';

/** A piece of a pattern in the syntax of RE2, and how many characters of the original it stands for. */
export interface Translated {
  source: string;
  length: number;
}

interface Place {
  pattern: string;
  at: number;
}

/** An escape outside of a class. */
export function readEscape(place: Place): Translated {
  const { source, length, isSet } = readOne(place);
  if (source === '\\b' || source === '\\B') return { source, length };
  return { source: isSet ? `[${source}]` : source, length };
}

/** A class in square brackets, written anew: in RE2 `[[:a:]]` has another meaning, and `[^]` is an error. */
export function readClass({ pattern, at: start }: Place): Translated {
  const isNegated = pattern[start + 1] === '^';
  let at = start + (isNegated ? 2 : 1);
  let members = '';
  while (pattern[at] !== ']') {
    const { source, length } = readMember({ pattern, at });
    at += length;
    // A dash between two characters makes a range; RE2 reads it the same way.
    const isRange = pattern[at] === '-' && pattern[at + 1] !== ']';
    members += source + (isRange ? '-' : '');
    if (isRange) at += 1;
  }
  const length = at + 1 - start;
  if (members === '') return { source: isNegated ? anything : nothing, length };
  return { source: `[${isNegated ? '^' : ''}${members}]`, length };
}

const anything = '[\\x{0}-\\x{10FFFF}]';
const nothing = '[^\\x{0}-\\x{10FFFF}]';

function readMember(place: Place): Translated {
  const { pattern, at } = place;
  if (pattern[at] !== '\\') return codeOf(pattern.codePointAt(at) ?? 0);
  // In a class it is the backspace.
  if (pattern[at + 1] === 'b') return { source: '\\x{8}', length: 2 };
  return readOne(place);
}

function codeOf(codePoint: number): Translated {
  return { source: hex(codePoint), length: codePoint > 0xffff ? 2 : 1 };
}

const hex = (codePoint: number): string => `\\x{${codePoint.toString(16)}}`;

/** What `\s` means in ECMAScript; in RE2 it is only the ASCII part. */
const spaces =
  '\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}';
const notSpaces =
  '\\x{0}-\\x{8}\\x{e}-\\x{1f}!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}' +
  '\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}';

/** An escape; `isSet`: what it stands for can only be written inside a class. */
function readOne(place: Place): Translated & { isSet: boolean } {
  const { pattern, at } = place;
  const letter = pattern[at + 1] ?? '';
  switch (letter) {
    case 's':
    case 'S':
      return { source: letter === 's' ? spaces : notSpaces, length: 2, isSet: true };
    case 'p':
    case 'P':
      return readProperty(place);
    case 'c':
      return { source: hex((pattern.codePointAt(at + 2) ?? 0) % 32), length: 3, isSet: false };
    case 'x':
      return { source: hex(Number.parseInt(pattern.slice(at + 2, at + 4), 16)), length: 4, isSet: false };
    case 'u':
      return readCodePoint(place);
    case '0':
      return { source: hex(0), length: 2, isSet: false };
    case 'k':
      throw new Unsupported('the back-reference', {
        text: pattern.slice(at, pattern.indexOf('>', at) + 1),
        at,
      });
    default:
      if (/[1-9]/.test(letter)) {
        throw new Unsupported('the back-reference', { text: /\\\d+/.exec(pattern.slice(at))?.[0] ?? '', at });
      }
      return { source: `\\${letter}`, length: 2, isSet: false };
  }
}

/** `\u00e4`, `\u{1F600}`, or the two halves of one character. */
function readCodePoint({ pattern, at }: Place): Translated & { isSet: boolean } {
  const [text = '', braced, high, low] =
    /^\\u(?:\{([0-9a-f]+)\}|([0-9a-f]{4})(?:(?<=\\ud[89ab]..)\\u(d[c-f]..))?)/i.exec(
      pattern.slice(at, at + 100),
    ) ?? [];
  const units = [high, low].flatMap((unit) => (unit === undefined ? [] : [Number.parseInt(unit, 16)]));
  const codePoint =
    braced === undefined ? (String.fromCharCode(...units).codePointAt(0) ?? 0) : Number.parseInt(braced, 16);
  return { source: hex(codePoint), length: text.length, isSet: false };
}

function readProperty({ pattern, at }: Place): Translated & { isSet: boolean } {
  const text = pattern.slice(at, pattern.indexOf('}', at) + 1);
  const [key, value] = text.slice(3, -1).split('=') as [string, string?];
  const name = value === undefined || generalCategory.includes(key) ? nameOfCategory(value ?? key) : value;
  if (value !== undefined && ![...generalCategory, 'Script', 'sc'].includes(key)) {
    throw new Unsupported('the property', { text, at });
  }
  return { source: `\\${pattern[at + 1]}{${name}}`, length: text.length, isSet: false };
}

const generalCategory = ['General_Category', 'gc'];

/** RE2 knows categories by their short names only. */
const nameOfCategory = (name: string): string => categories[name] ?? name;

const categories: Record<string, string> = {
  ...{
    Letter: 'L',
    Cased_Letter: 'LC',
    Uppercase_Letter: 'Lu',
    Lowercase_Letter: 'Ll',
    Titlecase_Letter: 'Lt',
  },
  ...{ Modifier_Letter: 'Lm', Other_Letter: 'Lo', Mark: 'M', Combining_Mark: 'M', Nonspacing_Mark: 'Mn' },
  ...{ Spacing_Mark: 'Mc', Enclosing_Mark: 'Me', Number: 'N', Decimal_Number: 'Nd', digit: 'Nd' },
  ...{ Letter_Number: 'Nl', Other_Number: 'No', Punctuation: 'P', punct: 'P', Connector_Punctuation: 'Pc' },
  ...{ Dash_Punctuation: 'Pd', Open_Punctuation: 'Ps', Close_Punctuation: 'Pe', Initial_Punctuation: 'Pi' },
  ...{
    Final_Punctuation: 'Pf',
    Other_Punctuation: 'Po',
    Symbol: 'S',
    Math_Symbol: 'Sm',
    Currency_Symbol: 'Sc',
  },
  ...{
    Modifier_Symbol: 'Sk',
    Other_Symbol: 'So',
    Separator: 'Z',
    Space_Separator: 'Zs',
    Line_Separator: 'Zl',
  },
  ...{ Paragraph_Separator: 'Zp', Other: 'C', Control: 'Cc', cntrl: 'Cc', Format: 'Cf', Surrogate: 'Cs' },
  ...{ Private_Use: 'Co', Unassigned: 'Cn', Alpha: 'Alphabetic', Upper: 'Uppercase', Lower: 'Lowercase' },
};
