import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { GenerationKey, KbKey, SourceKey } from '../types.ts';
import type { Labels } from './types.ts';

export interface LabelKey extends SourceKey {
  uri: string;
}

/** Says more of a document: fields are added or replaced, a new access list replaces the old one. */
export async function putLabels(
  tx: Tx,
  { tenantId, kbId, sourceId, uri }: LabelKey,
  { metadata, allow }: Labels,
): Promise<void> {
  await tx.run(sql`
    insert into knowledge_labels as l (tenant_id, kb_id, source_id, uri_key, metadata, allow)
    values (${tenantId}, ${kbId}, ${sourceId}, sha256(convert_to(${uri}, 'UTF8')), ${JSON.stringify(metadata)},
            ${allow}::text[])
    on conflict (tenant_id, kb_id, source_id, uri_key) do update
       set metadata = l.metadata || excluded.metadata,
           allow = coalesce(excluded.allow, l.allow),
           updated_at = clock_timestamp()`);
  // A trigger puts both together. All generations: the access list must hold at once, whichever of them serves.
  await tx.run(sql`
    update knowledge_documents d
       set own_metadata = d.own_metadata,
           updated_at = clock_timestamp()
      from knowledge_generations g
     where g.tenant_id = ${tenantId}
       and g.kb_id = ${kbId}
       and d.tenant_id = ${tenantId}
       and d.kb_id = ${kbId}
       and d.source_id = ${sourceId}
       and d.generation = g.generation
       and d.uri_key = sha256(convert_to(${uri}, 'UTF8'))`);
}

/** The file itself, before a run has made a document of it. */
export async function limitFile(
  tx: Tx,
  { tenantId, kbId, name, allow }: { tenantId: string; kbId: string; name: string; allow: readonly string[] },
): Promise<void> {
  await tx.run(sql`
    update knowledge_files
       set allow = ${allow}::text[]
     where tenant_id = ${tenantId}
       and kb_id = ${kbId}
       and name = ${name}`);
}

export async function deleteLabels(tx: Tx, { tenantId, kbId, sourceId, uri }: LabelKey): Promise<void> {
  await tx.run(sql`
    delete from knowledge_labels
     where tenant_id = ${tenantId}
       and kb_id = ${kbId}
       and source_id = ${sourceId}
       and uri_key = sha256(convert_to(${uri}, 'UTF8'))`);
}

/** Whether the knowledge base has documents or files that these groups may not see. Asked without a view. */
export async function hidesFrom(
  tx: Tx,
  { tenantId, kbId }: KbKey,
  groups: readonly string[],
): Promise<boolean> {
  const seen = [...groups, '*'];
  const row = await tx.find<{ hides: boolean }>(sql`
    select exists (
             select
               from knowledge_documents d
              where d.tenant_id = ${tenantId}
                and d.kb_id = ${kbId}
                and d.allow is not null
                and not d.allow && ${seen}::text[])
        or exists (
             select
               from knowledge_files f
              where f.tenant_id = ${tenantId}
                and f.kb_id = ${kbId}
                and f.allow is not null
                and not f.allow && ${seen}::text[]) as hides`);
  return row?.hides ?? false;
}

/** Null: all passages of the generation may be found. */
export async function findMatchingPassages(
  tx: Tx,
  { tenantId, kbId, generation }: GenerationKey,
  filter: string | null,
): Promise<Set<number> | null> {
  const row = await tx.find<{ isLimited: boolean; ids: string | null }>(sql`
    select m.is_limited as "isLimited", m.ids
      from matching_passages(${tenantId}, ${kbId}, ${generation}, ${filter}::jsonpath) m`);
  if (!row?.isLimited) return null;
  return new Set(row.ids === null ? [] : row.ids.split(',').map(Number));
}

/** Those of the fields that no document of the generation has. */
export function listUnknownFields(
  tx: Tx,
  { tenantId, kbId, generation }: GenerationKey,
  fields: readonly string[],
): Promise<{ field: string }[]> {
  return tx.rows(sql`
    select f.field
      from unnest(${fields}::text[]) as f (field)
     where not exists (
       select
         from knowledge_documents d
        where d.tenant_id = ${tenantId}
          and d.kb_id = ${kbId}
          and d.generation = ${generation}
          and d.metadata ? f.field)`);
}

/** The names that documents of the generation use, for a hint; the most used ones first. */
export function listFields(
  tx: Tx,
  { tenantId, kbId, generation }: GenerationKey,
  limit: number,
): Promise<{ field: string; documents: number }[]> {
  return tx.rows(sql`
    select k.field, count(*) as documents
      from knowledge_documents d
     cross join lateral jsonb_object_keys(d.metadata) as k (field)
     where d.tenant_id = ${tenantId}
       and d.kb_id = ${kbId}
       and d.generation = ${generation}
     group by k.field
     order by count(*) desc, k.field
     limit ${limit}`);
}
