/** A query as searches by words understand it. */
export interface Question {
  /** What counts for the score, words of phrases included. */
  words: string;
  /** Texts in quotes: passages need them word by word. */
  phrases: string[];
  /** Words and phrases after a minus: passages with them are left out. */
  excluded: string[];
}
