import { z } from 'zod';
import { clientSignal } from '../../../kernel/http/client-signal.ts';
import { listOf, pageOf, pageQuery, pageRequest, problems, timestamp } from '../../../kernel/http/replies.ts';
import type { RouteApp, RouteDeps, RouteModule } from '../../../kernel/http/route.ts';
import { storedText } from '../../../kernel/http/stored-text.ts';
import { kbKeyOf, kbParams } from '../bases/form.ts';
import { type SearchDeps, searchModes } from '../search/search.ts';
import { getKbIn } from '../service.ts';
import { evaluate } from './evaluate.ts';
import { listEvaluations } from './store.ts';
import type { Evaluation } from './types.ts';

const tags = ['knowledge'];
const uri = storedText(2_000).min(1);
const question = z.strictObject({
  query: storedText(8_000).min(1),
  relevant: z
    .array(z.union([uri, z.strictObject({ uri, grade: z.number().positive().max(1_000) })]))
    .min(1)
    .max(1_000)
    .describe('URIs of the documents that should be found; with a grade, higher is better'),
});

const questionScore = z.object({
  query: z.string(),
  rank: z.int().nullable().describe('Place of the first relevant document; null: not among the first k'),
  recall: z.number(),
  ndcg: z.number(),
});

const evaluationReply = z
  .object({
    evaluation_id: z.uuid(),
    generation: z.int().describe('The build of the index that was asked'),
    mode: z.enum(searchModes),
    k: z.int(),
    questions: z.int(),
    recall: z.number().describe('Share of the relevant documents among the first k, mean over the questions'),
    ndcg: z.number(),
    mrr: z.number().describe('Mean of 1 / place of the first relevant document'),
    created_at: timestamp,
  })
  .meta({ id: 'KnowledgeEvaluation' });

const comparedReply = evaluationReply
  .extend({
    earlier: evaluationReply
      .nullable()
      .describe('The last evaluation of an earlier generation, if there is one'),
    worse: z.array(z.object({ query: z.string(), before: questionScore, now: questionScore })),
    better: z.int().describe('How many questions are answered better'),
    scores: z.array(questionScore),
  })
  .meta({ id: 'ComparedKnowledgeEvaluation' });

export function evaluationRoutes(deps: SearchDeps): RouteModule {
  return (app, routeDeps) => {
    installEvaluating(app, deps);
    installList(app, routeDeps);
  };
}

function installEvaluating(app: RouteApp, deps: SearchDeps): void {
  app.route({
    method: 'POST',
    url: '/api/knowledge/:kb_id/evaluations',
    config: { action: 'knowledge.ingest', share: 'searches', takesData: true },
    schema: {
      tags,
      summary:
        'Ask questions with known answers, keep the scores, and compare with the last build of the index',
      params: kbParams,
      body: z.strictObject({
        questions: z.array(question).min(1).max(500),
        mode: z.enum(searchModes).default('hybrid'),
        k: z.int().min(1).max(50).default(10),
      }),
      response: { 201: comparedReply, ...problems(404, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const { questions, mode, k } = request.body;
      const { tenantId, kbId } = kbKeyOf(request);
      const asked = questions.map(({ query, relevant }) => ({
        query,
        relevant: relevant.map((one) => (typeof one === 'string' ? { uri: one, grade: 1 } : one)),
      }));
      const signal = clientSignal(reply);
      const made = await evaluate(deps, { tenantId, kbId, questions: asked, mode, k, signal });
      const { evaluation, earlier, worse, better } = made;
      return reply.code(201).send({
        ...render(evaluation),
        earlier: earlier && render(earlier),
        worse,
        better,
        scores: evaluation.questions,
      });
    },
  });
}

function installList(app: RouteApp, { db, cursors }: RouteDeps): void {
  const list = 'knowledge evaluations';
  app.route({
    method: 'GET',
    url: '/api/knowledge/:kb_id/evaluations',
    config: { action: 'knowledge.ingest' },
    schema: {
      tags,
      summary: 'List the evaluations of a knowledge base, newest first; the last 100 are kept',
      params: kbParams,
      querystring: z.strictObject(pageQuery),
      response: { 200: listOf(evaluationReply), ...problems(404) },
    },
    handler: async (request) => {
      const key = kbKeyOf(request);
      const page = pageRequest(request.query, { list, cursors });
      const rows = await db.read(key, async (tx) => {
        await getKbIn(tx, key);
        return listEvaluations(tx, { ...key, ...page });
      });
      const { limit } = request.query;
      return pageOf(rows, { limit, list, cursors, key: (row) => row.evaluationId, render });
    },
  });
}

function render({ evaluationId, generation, mode, k, scores, createdAt }: Evaluation) {
  return {
    evaluation_id: evaluationId,
    generation,
    mode,
    k,
    ...scores,
    created_at: createdAt.toISOString(),
  };
}
