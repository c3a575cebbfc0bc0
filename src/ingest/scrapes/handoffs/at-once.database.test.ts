import { expect, test } from 'vitest';
import { referenceNamed, useScrapes } from '../../../../test/support/servers/scrape-server.ts';
import { useDatabase } from '../../../../test/support/worlds/database.ts';

const database = useDatabase();
const scrapes = useScrapes(database);

type Claims = Awaited<ReturnType<typeof scrapes.tenant>>;

/** Links by what they are: of the text that its document has now, or of another one. */
async function linksOf({ tenantId }: Claims) {
  const [row] = await database.owner<{ current: number; former: number; unlinked: number }>(
    `select count(*) filter (where d.revision = l.revision)::int as current,
            count(*) filter (where d.revision is distinct from l.revision)::int as former,
            (select count(*)
               from embeddings_index e
              where e.tenant_id = $1
                and not exists (select from knowledge_links k where k.tenant_id = $1 and k.chunk_id = e.chunk_id)
            )::int as unlinked
       from knowledge_links l
       left join knowledge_documents d using (tenant_id, kb_id, document_id)
      where l.tenant_id = $1`,
    [tenantId],
  );
  return row;
}

async function push(claims: Claims, text: string): Promise<void> {
  await scrapes.push(claims, [referenceNamed('a', text), referenceNamed('b', 'Stays.')]);
  await scrapes.drive(claims.tenantId);
}

test('a reference that changes leaves nothing of its former text behind, and no other document changes', async () => {
  const claims = await scrapes.tenant();
  await push(claims, 'Herons wait.');
  await push(claims, 'Otters swim.');
  expect(await linksOf(claims)).toEqual({ current: 2, former: 0, unlinked: 0 });
  expect((await scrapes.search(claims, 'otters')).map(({ text }) => text)).toContain('Otters swim.');
  expect((await scrapes.search(claims, 'herons')).map(({ text }) => text)).not.toContain('Herons wait.');
  const left = await database.owner(
    'select 1 from knowledge_documents where tenant_id = $1 and previous is not null',
    [claims.tenantId],
  );
  expect(left).toEqual([]);
});

test('a run, its references, hand-offs and jobs are written together or not at all', async () => {
  const claims = await scrapes.tenant();
  await database.owner(`create function refuse() returns trigger language plpgsql as
    $$ begin raise exception 'no run may end' using errcode = '23514'; end $$`);
  await database.owner(`create trigger refuse before insert or update on scrape_runs for each row
    when (new.status = 'completed' and new.tenant_id = '${claims.tenantId}') execute function refuse()`);
  const answer = await scrapes.sync(claims, [referenceNamed('a', 'Herons wait.')]);
  await database.owner('drop trigger refuse on scrape_runs');
  expect(answer.status).toBe(500);
  // The former path has stored it, and says that the run failed; the first attempt has left nothing.
  const counts = await database.owner<Record<string, number>>(
    `select (select count(*) from scrape_references where tenant_id = $1)::int as "references",
            (select count(*) from ingestion_handoffs where tenant_id = $1)::int as handoffs,
            (select count(*) from ingestion_jobs where tenant_id = $1)::int as jobs,
            (select count(*) from scrape_runs where tenant_id = $1 and status = 'failed')::int as "failedRuns"`,
    [claims.tenantId],
  );
  expect(counts).toEqual([{ references: 1, handoffs: 1, jobs: 1, failedRuns: 1 }]);
  expect(await scrapes.push(claims, [referenceNamed('a', 'Herons wait.')])).toMatchObject({
    handoff_skipped_count: 1,
  });
});
