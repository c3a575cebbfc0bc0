import type { Tx } from '../../../lib/postgres/db.ts';
import { columnList, sql } from '../../../lib/postgres/sql.ts';
import type { KbKey } from '../types.ts';
import type { Evaluation } from './types.ts';

/** An `Evaluation`, read from `knowledge_evaluations e`. */
const columns = columnList('evaluation_id generation mode k scores questions created_at', 'e.');

export async function insertEvaluation(
  tx: Tx,
  { tenantId, kbId }: KbKey,
  made: Omit<Evaluation, 'createdAt'>,
): Promise<Evaluation> {
  const row = await tx.find<Evaluation>(sql`
    insert into knowledge_evaluations as e (
      tenant_id, kb_id, evaluation_id, generation, mode, k, scores, questions)
    values (${tenantId}, ${kbId}, ${made.evaluationId}, ${made.generation}, ${made.mode}, ${made.k},
            ${JSON.stringify(made.scores)}, ${JSON.stringify(made.questions)})
    returning ${columns}`);
  if (!row) throw new Error(`The row of evaluation ${made.evaluationId} was not returned by its own insert`);
  return row;
}

/** Newest first. */
export function listEvaluations(
  tx: Tx,
  { tenantId, kbId, after, limit }: KbKey & { after: string | null; limit: number },
): Promise<Evaluation[]> {
  return tx.rows<Evaluation>(sql`
    select ${columns}
      from knowledge_evaluations e
     where e.tenant_id = ${tenantId}
       and e.kb_id = ${kbId}
       and (${after}::uuid is null or e.evaluation_id < ${after}::uuid)
     order by e.evaluation_id desc
     limit ${limit}`);
}

/** The last one of an earlier generation, or of this one, in the same mode and with the same k. */
export function findEarlier(
  tx: Tx,
  { tenantId, kbId }: KbKey,
  { generation, mode, k }: Pick<Evaluation, 'generation' | 'mode' | 'k'>,
): Promise<Evaluation | null> {
  return tx.find<Evaluation>(sql`
    select ${columns}
      from knowledge_evaluations e
     where e.tenant_id = ${tenantId}
       and e.kb_id = ${kbId}
       and e.mode = ${mode}
       and e.k = ${k}
     order by (e.generation < ${generation}) desc, e.evaluation_id desc
     limit 1`);
}

/** Keeps the newest ones. */
export async function deleteOldEvaluations(tx: Tx, { tenantId, kbId }: KbKey, keep: number): Promise<void> {
  await tx.run(sql`
    delete from knowledge_evaluations
     where tenant_id = ${tenantId}
       and kb_id = ${kbId}
       and evaluation_id <= (
         select e.evaluation_id
           from knowledge_evaluations e
          where e.tenant_id = ${tenantId}
            and e.kb_id = ${kbId}
          order by e.evaluation_id desc
         offset ${keep}
          limit 1)`);
}
