/** Excel's own limits. */
export const mostSheetRows = 1_048_576;
export const mostSheetColumns = 16_384;

/** The position, from 0, of the column in a name such as `AB12`; null when it is none. */
export function columnOf(cellName: string): number | null {
  let column = 0;
  let at = 0;
  for (; at < 4; at += 1) {
    const letter = cellName.charCodeAt(at) - 64;
    if (!(letter >= 1 && letter <= 26)) break;
    column = column * 26 + letter;
  }
  return at === 0 || column > mostSheetColumns ? null : column - 1;
}

/** A, B, … Z, AA, … XFD. */
export function columnLetters(index: number): string {
  const rest = index % 26;
  const letter = String.fromCharCode(65 + rest);
  return index < 26 ? letter : columnLetters((index - rest) / 26 - 1) + letter;
}
