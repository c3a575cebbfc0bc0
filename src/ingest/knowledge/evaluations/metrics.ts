import type { EvaluationScores, Question, QuestionScore } from './types.ts';

/** How well documents, best first, answer a question. A document counts where its first passage is. */
export function scoreQuestion(
  { query, relevant }: Question,
  found: readonly string[],
  k: number,
): QuestionScore {
  const documents = [...new Set(found)].slice(0, k);
  const grades = new Map(relevant.map(({ uri, grade }) => [uri, grade]));
  const gains = documents.map((uri) => grades.get(uri) ?? 0);
  const ideal = relevant.map(({ grade }) => grade).toSorted((one, other) => other - one);
  const best = discounted(ideal.slice(0, k));
  const rank = gains.findIndex((gain) => gain > 0) + 1;
  return {
    query,
    rank: rank === 0 ? null : rank,
    recall: gains.filter((gain) => gain > 0).length / Math.max(1, grades.size),
    ndcg: best === 0 ? 0 : discounted(gains) / best,
  };
}

export function meanScores(questions: readonly QuestionScore[]): EvaluationScores {
  const mean = (value: (one: QuestionScore) => number) =>
    questions.reduce((sum, one) => sum + value(one), 0) / Math.max(1, questions.length);
  return {
    questions: questions.length,
    recall: mean(({ recall }) => recall),
    ndcg: mean(({ ndcg }) => ndcg),
    mrr: mean(({ rank }) => (rank === null ? 0 : 1 / rank)),
  };
}

/** The gain of each place, divided by the logarithm of the place. */
function discounted(gains: readonly number[]): number {
  return gains.reduce((sum, gain, at) => sum + gain / Math.log2(at + 2), 0);
}
