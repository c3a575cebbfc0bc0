import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { useDatabase } from '../../../test/support/worlds/database.ts';
import { useUploadRuns } from '../../../test/support/worlds/upload-runs.ts';
import type { Reconciliation } from './types.ts';

const database = useDatabase();
const uploads = useUploadRuns(database);

/** Pools so small that lines share keys, and some are identical. */
const line = fc.record({
  campaign: fc.integer({ min: 1, max: 3 }),
  day: fc.constantFrom('2026-03-01', '2026-03-02', '2026-03-03', 'someday'),
  device: fc.constantFrom('Computers', 'Tablets', ''),
  network: fc.constantFrom('Search', 'Display'),
  impressions: fc.oneof(
    { weight: 9, arbitrary: fc.integer({ min: 0, max: 30 }).map(String) },
    { weight: 1, arbitrary: fc.constant('many') },
  ),
  cents: fc.integer({ min: 0, max: 400 }),
  /** Stands in the file a second time. */
  isRepeated: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
  isSpendBad: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
});
const file = fc.record({
  keys: fc.constantFrom<'ids' | 'names' | 'both'>('ids', 'names', 'both'),
  breakdown: fc.constantFrom<readonly string[]>([], ['Device'], ['Device', 'Network']),
  lines: fc
    .array(line, { minLength: 1, maxLength: 25 })
    .map((lines) => lines.flatMap((each) => (each.isRepeated ? [each, each] : [each]))),
});
type File = typeof file extends fc.Arbitrary<infer T> ? T : never;

const spendOf = ({ cents, isSpendBad }: File['lines'][number]) =>
  isSpendBad ? 'oops' : (cents / 100).toFixed(2);

function textOf({ keys, breakdown, lines }: File): string {
  const columns = [
    'Day',
    ...(keys === 'ids' ? [] : ['Campaign']),
    ...(keys === 'names' ? [] : ['Campaign ID']),
    ...breakdown,
    ...['Impr.', 'Cost', 'Currency code'],
  ];
  const rows = lines.map((each) =>
    [
      each.day,
      ...(keys === 'ids' ? [] : [`Campaign ${each.campaign}`]),
      ...(keys === 'names' ? [] : [String(1000 + each.campaign)]),
      ...breakdown.map((name) => (name === 'Device' ? each.device : each.network)),
      ...[each.impressions, spendOf(each), 'USD'],
    ].join(),
  );
  return `${[columns.join(), ...rows].join('\n')}\n`;
}

/** In hundredths, by the generator's own figures. */
function sumOf(lines: File['lines'], figure: 'spend' | 'impressions'): number {
  const values = lines.map((each) => Number(figure === 'spend' ? spendOf(each) : each.impressions));
  return values.reduce((sum, value) => sum + (Number.isNaN(value) ? 0 : Math.round(value * 100)), 0);
}

const hundredths = (text: string | null | undefined) => Math.round(Number(text ?? 0) * 100);

async function storedSums(tenantId: string, table: 'daily_metrics' | 'metric_breakdowns') {
  const [row] = await database.owner<{ spend: string; impressions: string }>(
    `select coalesce(sum(spend), 0)::text as spend, coalesce(sum(impressions), 0)::text as impressions
       from ${table} where tenant_id = $1`,
    [tenantId],
  );
  return { spend: hundredths(row?.spend), impressions: hundredths(row?.impressions) };
}

test('the sum of the lines of any file is what was promoted and what was refused', {
  timeout: 300_000,
}, async () => {
  let promotedFiles = 0;
  let withDuplicates = 0;
  let withRefusals = 0;
  await fc.assert(
    fc.asyncProperty(file, async (given) => {
      const place = await uploads.place();
      const { kernel } = await uploads.start();
      const upload = await uploads.take(place, textOf(given), { platform: 'google', forcePartial: true });
      await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
      await kernel.stop(1_000);
      const record = await uploads.upload(upload);
      const reconciliation = record.reconciliation as Reconciliation | null;
      const stored = await storedSums(place.tenantId, 'daily_metrics');
      if (record.status === 'failed' || reconciliation === null) {
        expect(stored).toEqual({ spend: 0, impressions: 0 });
        return;
      }
      promotedFiles += 1;
      expect(Number(record.promoted_rows) + Number(record.failed_rows)).toBe(given.lines.length);
      for (const figure of ['spend', 'impressions'] as const) {
        const { lines, duplicates, promoted, refused, agrees } = reconciliation.figures[figure] ?? {};
        if (hundredths(duplicates) > 0) withDuplicates += 1;
        if (hundredths(refused) > 0) withRefusals += 1;
        // Against the generator: every readable cell is in the sums, identical lines once and the rest beside.
        expect(hundredths(lines) + hundredths(duplicates)).toBe(sumOf(given.lines, figure));
        expect(hundredths(promoted) + hundredths(refused)).toBe(hundredths(lines));
        expect(agrees).toBe(true);
        // Against the tables: what is said to be promoted is there, and breakdowns add up to it.
        expect(stored[figure]).toBe(hundredths(promoted));
        if (given.breakdown.length > 0 && Number(record.breakdowns_stored) > 0) {
          expect((await storedSums(place.tenantId, 'metric_breakdowns'))[figure]).toBe(stored[figure]);
        }
      }
    }),
    { numRuns: Number(process.env.SLUICE_CHAOS === 'full' ? 300 : 40) },
  );
  // A generator that makes only refused or only plain files would prove nothing.
  expect([promotedFiles > 10, withDuplicates > 0, withRefusals > 0]).toEqual([true, true, true]);
});
