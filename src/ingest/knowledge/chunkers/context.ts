import { normaliseTitle, safeCut } from './normalise.ts';

const maxLength = 300;

/**
 * The title of a document and the headings above a chunk, without those that the chunk contains: a passage of a manual
 * rarely says what the manual is about.
 */
export function contextOf(
  chunk: { text: string; headingPath: readonly string[] },
  { title }: { title: string },
): string {
  const text = chunk.text.replace(/\s+/g, ' ');
  const names = [...new Set([title, ...chunk.headingPath].map(normaliseTitle))];
  // The title of a file without a heading is its name, and 0042 says nothing.
  const missing = names.filter((name) => /\p{L}/u.test(name) && !text.includes(name));
  const context = missing.join('. ');
  return context.slice(0, safeCut(context, maxLength));
}

/** What an embedder gets. */
export function embeddedText({ text, context = '' }: { text: string; context?: string }): string {
  return context === '' ? text : `${context}\n${text}`;
}
