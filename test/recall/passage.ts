/** A passage, what is asked by people whom it would help, and a neighbour that is about the same and does not help. */
export interface Passage {
  title: string;
  /** The part that answers stands in [[double brackets]]. */
  text: string;
  /** Asked by somebody who knows what the subject is called. */
  question: string;
  /** Asked by somebody who does not: no word in common but the most frequent ones. */
  paraphrase: string;
  near: string;
}

/** The text as it is written into documents. */
export function plainText({ text }: Pick<Passage, 'text'>): string {
  return text.replace(/\[\[|\]\]/g, '');
}

/** What a chunk must contain to be an answer. */
export function answerOf({ title, text }: Pick<Passage, 'title' | 'text'>): string {
  const answer = /\[\[(.+?)\]\]/.exec(text)?.[1];
  if (answer === undefined) throw new Error(`The passage "${title}" does not mark its answer with [[ ]]`);
  return answer;
}
