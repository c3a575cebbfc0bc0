import type { Findable } from '../../kernel/find/types.ts';
import { sql } from '../../lib/postgres/sql.ts';

const referenceRow = sql`
  r.reference_id::text as id, r.title as name, r.url || ' ' || r.external_id as more,
  r.source as within`;

export const scrapeFindables: readonly Findable[] = [
  {
    kind: 'scrape_source',
    action: 'scrape.read',
    url: ({ id }) => `/scrapes/${encodeURIComponent(id)}`,
    newest: ({ tenantId }, limit) => sql`
      select source as id, source as name, url as more, null::text as within
        from scrape_sources
       where tenant_id = ${tenantId}
       order by source
       limit ${limit}`,
  },
  {
    kind: 'reference',
    action: 'scrape.read',
    url: ({ within }) => `/scrapes/${encodeURIComponent(within ?? '')}?tab=references`,
    newest: ({ tenantId }, limit) => sql`
      select ${referenceRow}
        from scrape_references r
       where r.tenant_id = ${tenantId}
       order by r.reference_id desc
       limit ${limit}`,
    one: ({ tenantId }, id) => sql`
      select ${referenceRow}
        from scrape_references r
       where r.tenant_id = ${tenantId}
         and r.reference_id = ${id}`,
  },
];
