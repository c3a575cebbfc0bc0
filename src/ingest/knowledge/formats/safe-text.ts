import { wellFormed } from '../../../lib/well-formed.ts';

const maxTitleUnits = 300;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out of titles.
const spacesAndControls = /[\s\u0001-\u001f\u007f-\u009f]+/g;

/**
 * Text that PostgreSQL and JSON accept: without NUL and broken surrogate pairs, with `\n` as line ends. Changes are
 * described in `notes`.
 */
export function storableText(text: string, notes: string[] = []): string {
  let safe = text;
  if (safe.includes('\0')) {
    const before = safe.length;
    safe = safe.replaceAll('\0', '');
    notes.push(`${before - safe.length} NUL characters were removed.`);
  }
  const whole = wellFormed(safe);
  if (whole !== safe) notes.push('Broken surrogate pairs were replaced.');
  return whole.includes('\r') ? whole.replace(/\r\n?/g, '\n') : whole;
}

/** On one line, without control characters, shortened between characters. */
export function storableTitle(title: string): string {
  // What is far beyond the limit need not be cleaned.
  const start = wellFormed(title.slice(0, maxTitleUnits * 4));
  const line = start.replaceAll('\0', '').replace(spacesAndControls, ' ').trim();
  if (line.length <= maxTitleUnits) return line;
  return `${wellFormed(line.slice(0, maxTitleUnits - 1)).replace(/\ufffd$/, '')}…`;
}

/** The file name without extension, for documents without a title. */
export function titleOfName(name: string): string {
  const base = name.slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1);
  const stem = base.replace(/(?<=.)\.[A-Za-z0-9]{1,10}$/, '');
  return storableTitle(stem) || 'Untitled';
}
