import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { GenerationKey } from '../types.ts';

/** Deletes up to `limit` counted words of a generation that is being removed, and all changes of counts. */
export async function deleteWordsOf(
  tx: Tx,
  { tenantId, kbId, generation }: GenerationKey,
  limit: number,
): Promise<number> {
  const changes = await tx.run(sql`
    delete from knowledge_word_changes
     where tenant_id = ${tenantId}
       and kb_id = ${kbId}
       and generation = ${generation}`);
  const words = await tx.run(sql`
    delete from knowledge_words
     where ctid = any(array(
       select ctid
         from knowledge_words
        where tenant_id = ${tenantId}
          and kb_id = ${kbId}
          and generation = ${generation}
        limit ${limit}))`);
  return changes + words;
}

/** Of all tenants: indexes that an older version has written. */
export function listUncounted(tx: Tx, limit: number): Promise<GenerationKey[]> {
  return tx.rows<GenerationKey>(sql`
    select g.tenant_id as "tenantId", g.kb_id as "kbId", g.generation
      from knowledge_generations g
     where g.counted_to is not null
     order by g.state = 'serving' desc, g.tenant_id, g.kb_id, g.generation
     limit ${limit}`);
}

/** Counts the words of the next `limit` passages; returns whether all are counted. */
export async function countOldPassages(
  tx: Tx,
  { tenantId, kbId, generation }: GenerationKey,
  limit: number,
): Promise<boolean> {
  const row = await tx.find<{ isDone: boolean }>(
    sql`select count_old_passages(${tenantId}, ${kbId}, ${generation}, ${limit}) as "isDone"`,
  );
  return row?.isDone ?? true;
}
