/** The rules by which a file that is not quite well-formed is read anyway. Each use of one is noted. */
export const repairRules = {
  encoding: 'The text is not valid UTF-8 and has no byte order mark; its encoding was detected',
  separator_line: 'The first line names the delimiter; it is not a row',
  preamble: 'Lines above the header were skipped',
  unnamed_column: 'A column without a name was named after its position',
  duplicate_column: 'A column with the name of an earlier one was numbered',
  bare_quote: 'A quote inside a value that is not in quotes was kept as text',
  inner_quote: 'A quote inside a quoted value was not doubled; it was kept as text',
  space_around_quotes: 'Spaces between the quotes of a value and the delimiter were dropped',
  short_row: 'A row has fewer cells than the header; the missing cells are null',
  long_row:
    'A row has more cells than the header; the extra cells were kept in columns named after their positions',
  trailing_delimiter: 'Empty cells after the last column were dropped',
  blank_row: 'A line with nothing but spaces was skipped',
  unnamed_cells: 'Values in columns without a name were kept in columns named after their positions',
  merged_cells: 'Cells are merged; only the first cell of each range has the value, the others are null',
  other_sheets: 'The workbook has more sheets; only one was read',
} as const;

export type RepairCode = keyof typeof repairRules;

/** Where a rule was used: a line of a text file, or a row of a sheet. */
export interface NotePlace {
  line: number | null;
  /** The number of the row, from 1; 0 is the header, null is neither. */
  row: number | null;
  /** What was found there, for people. */
  what: string;
}

/** One rule, how often it was used, and the first places. */
export interface RowNote {
  code: RepairCode;
  message: string;
  count: number;
  places: NotePlace[];
}

const mostPlaces = 20;
const longestWhat = 200;

/** Collects notes in bounded memory, however many repairs a file needs. */
export class RowNotes {
  readonly #notes = new Map<RepairCode, RowNote>();

  get all(): RowNote[] {
    return [...this.#notes.values()];
  }

  /** `what` is only called for places that are kept. */
  add(code: RepairCode, place: { line: number | null; row: number | null }, what: () => string): void {
    let note = this.#notes.get(code);
    if (note === undefined) {
      note = { code, message: repairRules[code], count: 0, places: [] };
      this.#notes.set(code, note);
    }
    note.count += 1;
    if (note.places.length === mostPlaces) return;
    note.places.push({ line: place.line, row: place.row, what: shortly(what()) });
  }
}

/** A value of the file in a message. */
export function quoted(value: string): string {
  const characters = [...value.slice(0, 80)];
  const text = characters.length > 40 ? `${characters.slice(0, 40).join('')}…` : characters.join('');
  return JSON.stringify(text.replaceAll('\0', '\ufffd'));
}

function shortly(text: string): string {
  return text.length <= longestWhat ? text : `${[...text.slice(0, longestWhat)].join('')}…`;
}
