import type { Tx } from '../../../lib/postgres/db.ts';
import { sql, trustedSql } from '../../../lib/postgres/sql.ts';
import type { Generation, GenerationKey, GenerationState, KbKey } from '../types.ts';

/** A `Generation`, read from `knowledge_generations g`. */
const generationColumns = trustedSql(`
  g.tenant_id as "tenantId", g.kb_id as "kbId", g.generation, g.fingerprint, g.dimensions, g.embedder, g.language,
  g.state,
  g.built_by_job as "builtByJob"`);

export function listGenerations(tx: Tx, { tenantId, kbId }: KbKey): Promise<Generation[]> {
  return tx.rows<Generation>(sql`
    select ${generationColumns}
      from knowledge_generations g
     where g.tenant_id = ${tenantId}
       and g.kb_id = ${kbId}
     order by g.generation
     limit 100`);
}

/** Takes the next number of the knowledge base, which must be locked. */
export async function insertGeneration(tx: Tx, made: Omit<Generation, 'generation'>): Promise<Generation> {
  const row = await tx.find<Generation>(sql`
    with numbered as (
      update knowledge_bases b
         set next_generation = b.next_generation + 1
       where b.tenant_id = ${made.tenantId}
         and b.kb_id = ${made.kbId}
      returning b.next_generation - 1 as generation
    )
    insert into knowledge_generations as g (
      tenant_id, kb_id, generation, fingerprint, dimensions, embedder, language, state, built_by_job)
    select ${made.tenantId}, ${made.kbId}, n.generation, ${made.fingerprint}, ${made.dimensions},
           ${JSON.stringify(made.embedder)}, ${made.language}, ${made.state}, ${made.builtByJob}
      from numbered n
    returning ${generationColumns}`);
  if (!row) throw new Error(`Knowledge base ${made.kbId} is gone, so it cannot get another generation`);
  return row;
}

/**
 * Each transaction that writes or deletes chunks holds this lock, so no chunk is deleted while a document is about to
 * link to it. Null if the generation no longer exists.
 */
export function lockGeneration(
  tx: Tx,
  { tenantId, kbId, generation }: GenerationKey,
): Promise<Generation | null> {
  return tx.find<Generation>(sql`
    select ${generationColumns}
      from knowledge_generations g
     where g.tenant_id = ${tenantId}
       and g.kb_id = ${kbId}
       and g.generation = ${generation}
       for no key update`);
}

/**
 * Locks the generation, and the knowledge base so that it is neither switched nor deleted; others may hold that lock
 * too. Null: the knowledge base is gone; `none`: it has no such generation.
 */
export async function heldGeneration(
  tx: Tx,
  { tenantId, kbId, generation }: GenerationKey,
): Promise<GenerationState | 'none' | null> {
  const row = await tx.find<{ state: GenerationState | 'none' | null }>(
    sql`select hold_generation(${tenantId}, ${kbId}, ${generation}) as state`,
  );
  return row?.state ?? null;
}

/** Must run in each transaction that adds or deletes chunks. */
export async function bumpIndex(tx: Tx, { tenantId, kbId, generation }: GenerationKey): Promise<void> {
  await tx.run(sql`
    update knowledge_generations
       set index_version = index_version + 1
     where tenant_id = ${tenantId}
       and kb_id = ${kbId}
       and generation = ${generation}`);
}

/** Searches use this generation from now on. The knowledge base must be locked. */
export async function serveGeneration(tx: Tx, { tenantId, kbId, generation }: GenerationKey): Promise<void> {
  await tx.run(sql`
    update knowledge_generations
       set state = 'retired'
     where tenant_id = ${tenantId}
       and kb_id = ${kbId}
       and state = 'serving'
       and generation <> ${generation}`);
  await setState(tx, { tenantId, kbId, generation }, 'serving');
  await tx.run(sql`
    update knowledge_bases
       set generation = ${generation},
           updated_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and kb_id = ${kbId}`);
}

export function retireGeneration(tx: Tx, key: GenerationKey): Promise<void> {
  return setState(tx, key, 'retired');
}

async function setState(
  tx: Tx,
  { tenantId, kbId, generation }: GenerationKey,
  state: GenerationState,
): Promise<void> {
  await tx.run(sql`
    update knowledge_generations
       set state = ${state}
     where tenant_id = ${tenantId}
       and kb_id = ${kbId}
       and generation = ${generation}`);
}

export async function deleteGeneration(tx: Tx, { tenantId, kbId, generation }: GenerationKey): Promise<void> {
  await tx.run(sql`
    delete from knowledge_generations
     where tenant_id = ${tenantId}
       and kb_id = ${kbId}
       and generation = ${generation}
       and state <> 'serving'`);
}

/**
 * Counts documents that searches find now and would lose with the new generation: their source still exists, and the
 * new generation does not have them.
 */
export async function countUnseen(
  tx: Tx,
  { tenantId, kbId }: KbKey,
  { serving, building, completeSources }: { serving: number; building: number; completeSources: string[] },
): Promise<number> {
  const row = await tx.find<{ count: number }>(sql`
    select count(*) as count
      from knowledge_documents d
      join knowledge_sources s
        on s.tenant_id = d.tenant_id and s.kb_id = d.kb_id and s.source_id = d.source_id
     where d.tenant_id = ${tenantId}
       and d.kb_id = ${kbId}
       and d.generation = ${serving}
       and d.chunk_count > 0
       and d.source_id <> all(${completeSources}::uuid[])
       and not exists (
         select from knowledge_documents n
          where n.tenant_id = d.tenant_id
            and n.kb_id = d.kb_id
            and n.generation = ${building}
            and n.source_id = d.source_id
            and n.uri_key = d.uri_key)`);
  return row?.count ?? 0;
}
