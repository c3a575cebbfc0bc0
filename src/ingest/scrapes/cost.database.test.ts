import { expect, test } from 'vitest';
import { costOf } from '../../../test/support/probes/job-cost.ts';
import { referenceNamed, useScrapes } from '../../../test/support/servers/scrape-server.ts';
import { useOwnDatabase } from '../../../test/support/worlds/own-database.ts';

const database = useOwnDatabase();
const scrapes = useScrapes(database);

const ofScrapes = /scrape_\w+|ingestion_handoffs|find_handed_reference/;
const ofKnowledge =
  /knowledge_\w+|embeddings_index|open_reference_run|find_reference_intake|hold_generation|adopt_reference/;

test('a hand-off costs a handful of statements and transactions', {
  timeout: 120_000,
}, async () => {
  const claims = await scrapes.tenant();
  const cost = await costOf(database, {
    names: [ofScrapes, ofKnowledge],
    work: async (n) => {
      await scrapes.push(claims, [referenceNamed(`page-${n}`)]);
      await scrapes.drive(claims.tenantId);
    },
  });
  const handoffs = await scrapes.handoffs(claims);
  expect(new Set(handoffs.map(({ status }) => status))).toEqual(new Set(['completed']));
  // Each bound leaves room for a push or two that a busy machine sends the former way, and is half of what it was.
  // Source, references, hand-offs and run of the push; the reference, read by its run.
  expect(cost.naming[ofScrapes.source], JSON.stringify(cost)).toBeLessThanOrEqual(7);
  // Three looks before the embedding; one transaction that holds, writes and adopts after it.
  expect(cost.naming[ofKnowledge.source], JSON.stringify(cost)).toBeLessThanOrEqual(13);
  // With the kernel's own for its tenant: the job, fence, end and what follows it.
  expect(cost.statements, JSON.stringify(cost)).toBeLessThanOrEqual(30);
  expect(cost.transactions, JSON.stringify(cost)).toBeLessThanOrEqual(12);
  // It was 26 KB; a busy machine adds heartbeats.
  expect(cost.walBytes, JSON.stringify(cost)).toBeLessThan(20_000);
});

test('moving with its job changes no index of a hand-off', async () => {
  const indexed = await database.owner<{ name: string; columns: string }>(
    `select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as columns
       from pg_index i
      where i.indrelid = 'ingestion_handoffs'::regclass`,
  );
  expect(indexed.length).toBeGreaterThan(3);
  // An update stays in its page only if no index looks at what it changes.
  for (const { name, columns } of indexed) expect(columns, name).not.toMatch(/status|reason_code|updated_at/);
});
