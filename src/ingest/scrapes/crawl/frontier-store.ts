import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';

export interface CrawlKey {
  tenantId: string;
  jobId: string;
}

/** More pages than any crawl visits. */
const maxFrontier = 200_000;

export function listFrontier(
  tx: Tx,
  { tenantId, jobId }: CrawlKey,
): Promise<{ url: string; depth: number; isVisited: boolean }[]> {
  return tx.rows(sql`
    select f.url, f.depth, f.is_visited as "isVisited"
      from scrape_frontier f
     where f.tenant_id = ${tenantId}
       and f.job_id = ${jobId}
     order by f.seq
     limit ${maxFrontier}`);
}

export async function addToFrontier(
  tx: Tx,
  { tenantId, jobId }: CrawlKey,
  found: readonly { url: string; depth: number }[],
): Promise<void> {
  if (found.length === 0) return;
  await tx.run(sql`
    insert into scrape_frontier (tenant_id, job_id, url, url_key, depth)
    select ${tenantId}, ${jobId}, p.url, sha256(convert_to(p.url, 'UTF8')), p.depth
      from unnest(${found.map(({ url }) => url)}::text[], ${found.map(({ depth }) => depth)}::integer[])
             with ordinality as p (url, depth, place)
     order by p.place
    on conflict (tenant_id, job_id, url_key) do nothing`);
}

/** A page that was visited without being found first (a start page, a redirect) is noted as well. */
export async function markVisited(
  tx: Tx,
  { tenantId, jobId }: CrawlKey,
  urls: readonly string[],
): Promise<void> {
  if (urls.length === 0) return;
  await tx.run(sql`
    insert into scrape_frontier (tenant_id, job_id, url, url_key, depth, is_visited)
    select ${tenantId}, ${jobId}, p.url, sha256(convert_to(p.url, 'UTF8')), 0, true
      from (select distinct u.url from unnest(${urls}::text[]) as u (url)) p
    on conflict (tenant_id, job_id, url_key) do update
       set is_visited = true`);
}

export async function deleteFrontier(
  tx: Tx,
  { tenantId, jobId, limit }: CrawlKey & { limit: number },
): Promise<number> {
  return tx.run(sql`
    delete from scrape_frontier
     where ctid = any(array(
       select ctid
         from scrape_frontier
        where tenant_id = ${tenantId}
          and job_id = ${jobId}
        limit ${limit}))`);
}
