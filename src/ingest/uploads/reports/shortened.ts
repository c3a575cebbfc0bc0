/** A value as it is shown beside what is wrong with it. */
export function shortened(text: string, maxLength = 200): string {
  const kept = storable(text);
  if (kept.length <= maxLength) return kept;
  // Not in the middle of a pair: half a character cannot be stored.
  return `${kept.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** PostgreSQL stores no U+0000. */
export function storable(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text;
}
