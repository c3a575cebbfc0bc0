/** Lone surrogates, which JSON and the database refuse, become U+FFFD. The length stays the same. */
export function wellFormed(text: string): string {
  // Every supported Node has it; the types of ES2023 do not.
  return (text as string & { toWellFormed(): string }).toWellFormed();
}

/** As PostgreSQL stores it: without NUL and without lone surrogates. */
export function storable(text: string): string {
  return wellFormed(text.includes('\0') ? text.replaceAll('\0', '') : text);
}
