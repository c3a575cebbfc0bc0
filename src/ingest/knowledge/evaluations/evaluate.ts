import { newId } from '../../../lib/ids.ts';
import { knowledgeErrors } from '../errors.ts';
import { type SearchDeps, searchKnowledge } from '../search/search.ts';
import { findServingIndex } from '../search/store.ts';
import { findKb } from '../store.ts';
import type { KbKey } from '../types.ts';
import { meanScores, scoreQuestion } from './metrics.ts';
import { deleteOldEvaluations, findEarlier, insertEvaluation } from './store.ts';
import type { Evaluation, Question, QuestionScore } from './types.ts';

export interface Wish extends KbKey {
  questions: readonly Question[];
  mode: Evaluation['mode'];
  k: number;
  signal: AbortSignal;
}

export interface Compared {
  evaluation: Evaluation;
  earlier: Evaluation | null;
  /** Questions whose nDCG is lower than in the earlier one. */
  worse: { query: string; before: QuestionScore; now: QuestionScore }[];
  better: number;
}

/** Enough passages that k documents are among them. */
const passages = 50;
const keptEvaluations = 100;
const tolerance = 1e-9;

/** Asks all questions, keeps how well they were answered, and compares with the last generation of the index. */
export async function evaluate(deps: SearchDeps, wish: Wish): Promise<Compared> {
  const { tenantId, kbId, mode, k, signal } = wish;
  const key = { tenantId, kbId };
  const generation = await servingGeneration(deps, key);
  const scored: QuestionScore[] = [];
  for (const question of wish.questions) {
    const { query } = question;
    const { results } = await searchKnowledge(deps, { ...key, query, mode, limit: passages, signal });
    const found = results.flatMap(({ document, also_in: others = [] }) => [
      document.uri,
      ...others.map((place) => place.document.uri),
    ]);
    scored.push(scoreQuestion(question, found, k));
  }
  return deps.db.tenant(tenantId, async (tx) => {
    if (!(await findKb(tx, key))) throw missing(key);
    const earlier = await findEarlier(tx, key, { generation, mode, k });
    const evaluation = await insertEvaluation(tx, key, {
      evaluationId: newId(),
      generation,
      mode,
      k,
      scores: meanScores(scored),
      questions: scored,
    });
    await deleteOldEvaluations(tx, key, keptEvaluations);
    return { evaluation, earlier, ...compare(scored, earlier) };
  });
}

async function servingGeneration({ db }: SearchDeps, key: KbKey): Promise<number> {
  const serving = await db.read(key.tenantId, (tx) => findServingIndex(tx, key));
  if (serving === null) throw missing(key);
  return serving.generation ?? 0;
}

function missing({ kbId }: KbKey) {
  return knowledgeErrors.raise.knowledge_base_not_found(`There is no knowledge base ${kbId}`);
}

function compare(
  scored: readonly QuestionScore[],
  earlier: Evaluation | null,
): Pick<Compared, 'worse' | 'better'> {
  const before = new Map((earlier?.questions ?? []).map((one) => [one.query, one]));
  const pairs = scored.flatMap((now) => {
    const known = before.get(now.query);
    return known ? [{ query: now.query, before: known, now }] : [];
  });
  return {
    worse: pairs.filter((pair) => pair.now.ndcg < pair.before.ndcg - tolerance),
    better: pairs.filter((pair) => pair.now.ndcg > pair.before.ndcg + tolerance).length,
  };
}
