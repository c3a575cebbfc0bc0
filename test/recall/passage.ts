/** A passage, questions that it answers, and a similar passage that does not answer them. */
export interface Passage {
  title: string;
  /** The part that answers the question is in [[double brackets]]. */
  text: string;
  /** A question that names the subject. */
  question: string;
  /** A question without the name: it shares only the most frequent words. */
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
