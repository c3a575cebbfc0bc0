import type { Tx } from '../../lib/postgres/db.ts';
import { sql } from '../../lib/postgres/sql.ts';
import type { FoundPage, FrontierPage } from './types.ts';

/** A job may crawl several sources, each with a frontier of its own. */
export interface CrawlKey {
  tenantId: string;
  jobId: string;
  source: string;
}

/** More pages than any crawl visits. */
const maxPages = 200_000;

/** In the order in which the pages were found. */
export function listFrontier(tx: Tx, { tenantId, jobId, source }: CrawlKey): Promise<FrontierPage[]> {
  return tx.rows<FrontierPage>(sql`
    select f.url, f.depth, f.is_visited as "isVisited"
      from crawl_frontier f
     where f.tenant_id = ${tenantId}
       and f.job_id = ${jobId}
       and f.source = ${source}
     order by f.seq
     limit ${maxPages}`);
}

/** A page that was visited without being found first (a start page, a redirect) is added as well. */
export async function extendFrontier(
  tx: Tx,
  { tenantId, jobId, source }: CrawlKey,
  { found, visited }: { found: readonly FoundPage[]; visited: readonly string[] },
): Promise<void> {
  if (visited.length > 0) {
    await tx.run(sql`
      insert into crawl_frontier (tenant_id, job_id, source, url, url_key, depth, is_visited)
      select ${tenantId}, ${jobId}, ${source}, p.url, sha256(convert_to(p.url, 'UTF8')), 0, true
        from (select distinct u.url from unnest(${visited}::text[]) as u (url)) p
      on conflict (tenant_id, job_id, source, url_key) do update
         set is_visited = true`);
  }
  if (found.length > 0) {
    await tx.run(sql`
      insert into crawl_frontier (tenant_id, job_id, source, url, url_key, depth)
      select ${tenantId}, ${jobId}, ${source}, p.url, sha256(convert_to(p.url, 'UTF8')), p.depth
        from unnest(${found.map(({ url }) => url)}::text[], ${found.map(({ depth }) => depth)}::integer[])
               with ordinality as p (url, depth, place)
       order by p.place
      on conflict (tenant_id, job_id, source, url_key) do nothing`);
  }
}

/** Deletes up to `limit` pages of all crawls of the job; returns how many. */
export async function deleteFrontier(
  tx: Tx,
  { tenantId, jobId, limit }: { tenantId: string; jobId: string; limit: number },
): Promise<number> {
  return tx.run(sql`
    delete from crawl_frontier
     where ctid = any(array(
       select ctid
         from crawl_frontier
        where tenant_id = ${tenantId}
          and job_id = ${jobId}
        limit ${limit}))`);
}
