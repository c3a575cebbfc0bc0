import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { DocumentKey } from '../types.ts';

export interface Passage {
  ordinal: number;
  text: string;
  headingPath: string[];
  startAt: number;
  endAt: number;
  pageFrom: number | null;
  pageTo: number | null;
}

/** The chunks of a document's current revision, in order. */
export function listPassages(
  tx: Tx,
  { tenantId, kbId, documentId, fromOrdinal, limit }: DocumentKey & { fromOrdinal: number; limit: number },
): Promise<Passage[]> {
  return tx.rows<Passage>(sql`
    select l.ordinal, c.text, l.heading_path as "headingPath", l.start_at as "startAt", l.end_at as "endAt",
           l.page_from as "pageFrom", l.page_to as "pageTo"
      from knowledge_documents d
      join knowledge_links l
        on l.tenant_id = d.tenant_id
       and l.kb_id = d.kb_id
       and l.document_id = d.document_id
       and l.revision = d.revision
      join embeddings_index c on c.tenant_id = l.tenant_id and c.chunk_id = l.chunk_id
     where d.tenant_id = ${tenantId}
       and d.kb_id = ${kbId}
       and d.document_id = ${documentId}
       and l.ordinal >= ${fromOrdinal}
     order by l.ordinal
     limit ${limit}`);
}

/** The last chunk that starts at or before this character; 0 for a document without chunks. */
export async function findOrdinalAt(
  tx: Tx,
  { tenantId, kbId, documentId, startAt }: DocumentKey & { startAt: number },
): Promise<number> {
  const row = await tx.find<{ ordinal: number | null }>(sql`
    select max(l.ordinal) as ordinal
      from knowledge_documents d
      join knowledge_links l
        on l.tenant_id = d.tenant_id
       and l.kb_id = d.kb_id
       and l.document_id = d.document_id
       and l.revision = d.revision
     where d.tenant_id = ${tenantId}
       and d.kb_id = ${kbId}
       and d.document_id = ${documentId}
       and l.start_at <= ${startAt}`);
  return row?.ordinal ?? 0;
}
