import { describe, expect, test } from 'vitest';
import { referenceNamed, sumOf, useScrapes } from '../support/servers/scrape-server.ts';
import { useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const scrapes = useScrapes(database);

describe('what a scraper pushes', () => {
  test('is handed over, ingested and found', async () => {
    const claims = await scrapes.tenant();
    const counts = await scrapes.push(claims, [
      referenceNamed('sluices', 'A sluice lets the water through when the gate is lifted.'),
      referenceNamed('herons', 'Herons stand in shallow water and wait for fish.'),
    ]);
    expect(counts).toMatchObject({
      references_persisted: 2,
      handoff_queued_count: 2,
      handoff_completed_count: 0,
      handoff_failed_count: 0,
      handoff_skipped_count: 0,
    });
    const before = await scrapes.handoffs(claims);
    expect(before.map(({ status, reason_code, attempts }) => ({ status, reason_code, attempts }))).toEqual(
      Array(2).fill({ status: 'queued', reason_code: 'ingestion_job_queued', attempts: 1 }),
    );
    await scrapes.drive(claims.tenantId);
    const after = await scrapes.handoffs(claims, '&status=completed');
    expect(after.map(({ reason_code }) => reason_code)).toEqual(Array(2).fill('ingestion_job_completed'));
    expect(after.map(({ job_id }) => job_id)).not.toContain(null);
    const [first] = await scrapes.search(claims, 'herons wait for fish');
    expect(first).toMatchObject({ uri: 'https://example.com/herons' });
    const again = await scrapes.push(claims, [
      referenceNamed('sluices', 'A gate.'),
      referenceNamed('herons', 'Herons stand in shallow water and wait for fish.'),
    ]);
    expect(again).toMatchObject({ handoff_queued_count: 1, handoff_skipped_count: 1 });
    expect(sumOf(again)).toBe(again.references_persisted);
  });
});
