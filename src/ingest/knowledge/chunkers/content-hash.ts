import { createHash } from 'node:crypto';

/** SHA-256 in hex. The text must be normalised: the hash is what says that words were embedded before. */
export function contentHash(normalisedText: string): string {
  return createHash('sha256').update(normalisedText, 'utf8').digest('hex');
}
