import { expect, test } from 'vitest';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { adLine, adReport, range, useUploadRuns } from '../../../../test/support/worlds/upload-runs.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import { byHash, insertMetrics, upsertMetrics } from './metrics-store.ts';
import { adoptParents, resolveEntities } from './store.ts';

const database = useDatabase();
const uploads = useUploadRuns(database);
const ads = 1_500;
const batch = range(1_000).map((n) => n - 1);

/** How many rows of ads and resolved ids this transaction has read. */
async function looksIn(tx: Tx): Promise<number> {
  const row = await tx.find<{ n: number }>(sql`
    select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint as n
      from pg_stat_xact_user_tables
     where relname in ('ads', 'staging_id_resolution')`);
  return row?.n ?? 0;
}

test.each([
  ['of no client', undefined],
  ['of a client', '11111111-2222-4333-8444-555555555555'],
])(
  'a batch of an upload %s reads its own entities, not every entity for each of its rows',
  {
    timeout: 60_000,
  },
  async (_whose, clientId) => {
    const place = await uploads.place();
    const { kernel } = await uploads.start();
    const content = adReport(range(ads).map((n) => adLine(n)));
    const upload = await uploads.take(place, content, clientId === undefined ? {} : { clientId });
    await kernel.cycle({ budgetMs: 40_000, tenantId: place.tenantId });
    expect(await uploads.upload(upload)).toMatchObject({ status: 'completed', ads_upserted: ads });
    const costOf = (work: (tx: Tx) => Promise<unknown>) =>
      database.db.transaction(
        { role: 'sluice_promote', tenantId: place.tenantId, settings: byHash },
        async (tx) => {
          await work(tx);
          return looksIn(tx);
        },
      );
    // A few thousand, whatever the plan. Reading all of them for each row would be a million and a half.
    const limit = 100_000;
    expect(await costOf((tx) => resolveEntities(tx, upload, { kind: 'ad', rowIndexes: batch }))).toBeLessThan(
      limit,
    );
    const facts = { type: 'daily_metric', selection: { rowIndexes: batch } } as const;
    expect(await costOf((tx) => upsertMetrics(tx, upload, facts))).toBeLessThan(limit);
    expect(await costOf((tx) => insertMetrics(tx, upload, facts))).toBeLessThan(limit);
    const adopted = await costOf(async (tx) => {
      await tx.run(sql`delete from staging_id_resolution where tenant_id = ${place.tenantId}`);
      await adoptParents(tx, upload, batch);
      expect(await upsertMetrics(tx, upload, facts)).toMatchObject({ orphans: [] });
    });
    expect(adopted).toBeLessThan(limit);
  },
);
