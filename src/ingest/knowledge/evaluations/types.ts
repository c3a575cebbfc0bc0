/** A question, and which documents should be found. */
export interface Question {
  query: string;
  /** By URI, with a grade: higher is better. */
  relevant: { uri: string; grade: number }[];
}

export interface QuestionScore {
  query: string;
  /** Place of the first relevant document, from 1; null: not among the first k. */
  rank: number | null;
  recall: number;
  ndcg: number;
}

export interface EvaluationScores {
  questions: number;
  recall: number;
  ndcg: number;
  /** Mean of 1 / rank. */
  mrr: number;
}

export interface Evaluation {
  evaluationId: string;
  generation: number;
  mode: 'vector' | 'text' | 'hybrid';
  k: number;
  scores: EvaluationScores;
  questions: QuestionScore[];
  createdAt: Date;
}
