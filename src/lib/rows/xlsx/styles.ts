import type { XmlAttributes, XmlEvents } from '../../formats/xml.ts';

/** What a number means, by the format that it is shown in. */
export type NumberKind = 'number' | 'date' | 'time' | 'date_time' | 'elapsed';

/** More styles than any spreadsheet program allows (65,490) change nothing. */
const mostStyles = 100_000;
const mostFormats = 10_000;

/** Reads from the styles of cells which numbers are dates. */
export class Styles implements XmlEvents {
  readonly #customKinds = new Map<number, NumberKind>();
  readonly #kinds: NumberKind[] = [];
  #isInCellFormats = false;

  /** By the style number of a cell; cells without one have style 0. */
  kindOf(style: number): NumberKind {
    return this.#kinds[style] ?? 'number';
  }

  open(name: string, attribute: XmlAttributes): void {
    if (name === 'cellXfs') this.#isInCellFormats = true;
    if (name === 'numFmt' && this.#customKinds.size < mostFormats) {
      this.#customKinds.set(Number(attribute('numFmtId')), kindOfFormat(attribute('formatCode') ?? ''));
    }
    if (name === 'xf' && this.#isInCellFormats && this.#kinds.length < mostStyles) {
      const id = Number(attribute('numFmtId') ?? 0);
      this.#kinds.push(this.#customKinds.get(id) ?? kindOfBuiltIn(id));
    }
  }

  close(name: string): void {
    if (name === 'cellXfs') this.#isInCellFormats = false;
  }
}

/** The formats that every program knows by their number; those from 27 on are dates in East Asian calendars. */
function kindOfBuiltIn(id: number): NumberKind {
  if (id === 22) return 'date_time';
  if (id === 46) return 'elapsed';
  if ((id >= 18 && id <= 21) || id === 45 || id === 47 || id === 32 || id === 33) return 'time';
  if ((id >= 14 && id <= 17) || (id >= 27 && id <= 36) || (id >= 50 && id <= 58)) return 'date';
  return 'number';
}

const elapsedToken = /\[(?:h+|m+|s+)\]/;
/** Quoted, escaped, repeated or omitted text, and brackets: colours, conditions, currencies, languages. */
const decoration = /"[^"]*"?|\\.|[_*].|\[[^\]]*\]?/g;

/** Formats that people write, such as `dd/mm/yyyy hh:mm` or `#,##0.00 "days"`. */
function kindOfFormat(code: string): NumberKind {
  const lower = code.slice(0, 1_000).toLowerCase();
  if (elapsedToken.test(lower.replace(/"[^"]*"|\\./g, ''))) return 'elapsed';
  // The first of up to four sections is the one for positive numbers.
  const letters = lower.replace(decoration, '').split(';')[0]?.replace('general', '') ?? '';
  const spoken = letters.replace(/e[+-]/g, '');
  const hasTime = /[hs]|am\/pm|a\/p/.test(spoken);
  const bare = spoken.replace(/am\/pm|a\/p/g, '');
  const hasDate = /[yde]/.test(bare) || (!hasTime && bare.includes('m'));
  if (hasDate) return hasTime ? 'date_time' : 'date';
  return hasTime ? 'time' : 'number';
}
