import type { Findable } from '../../kernel/find/types.ts';
import { type Sql, sql } from '../../lib/postgres/sql.ts';

const documentRow = sql`
  d.document_id::text as id, coalesce(nullif(d.title, ''), d.uri) as name, d.uri as more,
  d.kb_id as within`;

/** Documents for some groups are hidden by their policy, here as everywhere. */
export const knowledgeFindables: readonly Findable[] = [
  {
    kind: 'knowledge_base',
    action: 'knowledge.read',
    url: ({ id }) => `/knowledge/${encodeURIComponent(id)}`,
    newest: ({ tenantId }, limit) => sql`
      select kb_id as id, name, null::text as more, null::text as within
        from knowledge_bases
       where tenant_id = ${tenantId}
         and removed_at is null
       order by kb_id
       limit ${limit}`,
  },
  {
    kind: 'document',
    action: 'knowledge.read',
    url: ({ id, within }) => `/knowledge/${encodeURIComponent(within ?? '')}?document=${id}`,
    newest: ({ tenantId }, limit) => sql`
      select ${documentRow}
        from knowledge_documents d
        join (${shownGenerations(tenantId)}) g on g.kb_id = d.kb_id and g.generation = d.generation
       where d.tenant_id = ${tenantId}
         and d.state <> 'gone'
       order by d.kb_id, d.document_id desc
       limit ${limit}`,
    one: ({ tenantId }, id) => sql`
      select ${documentRow}
        from knowledge_documents d
        join (${shownGenerations(tenantId)}) g on g.kb_id = d.kb_id and g.generation = d.generation
       where d.tenant_id = ${tenantId}
         and d.document_id = ${id}`,
  },
];

/** What people see of each base: the generation that searches use, or the first one while it is built. */
function shownGenerations(tenantId: string): Sql {
  return sql`
    select g.kb_id, min(g.generation) as generation
      from knowledge_generations g
      join knowledge_bases b on b.tenant_id = g.tenant_id and b.kb_id = g.kb_id and b.removed_at is null
     where g.tenant_id = ${tenantId}
       and g.state in ('serving', 'building')
     group by g.kb_id`;
}
