/** Text that a spreadsheet takes for a formula, after any apostrophes; full-width forms included. */
const formula = /^'*[=+\-@\t\r\n＝＋－＠]/;

/**
 * Makes text harmless in spreadsheets. Text that looks guarded already gets one more apostrophe: otherwise `=1` and
 * `'=1` would become the same text.
 */
export function guardFormula(text: string): string {
  return formula.test(text) ? `'${text}` : text;
}

/** The inverse of guardFormula, for reading back what we wrote. */
export function unguardFormula(text: string): string {
  return text.startsWith("'") && formula.test(text) ? text.slice(1) : text;
}

/** Semicolon and tab need no quotes by the RFC, but a spreadsheet in another locale splits at them. */
const needsCare = /^['=+\-@＝＋－＠]|[",;\r\n\t]/;

/** A text as a field of RFC 4180, guarded against spreadsheets. */
export function csvField(value: string): string {
  if (!needsCare.test(value)) return value;
  const guarded = guardFormula(value);
  return /[",;\r\n\t]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvField).join(',')}\r\n`;
}
