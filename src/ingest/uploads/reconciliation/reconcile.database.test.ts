import fc from 'fast-check';
import { expect, test } from 'vitest';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { useUploadRuns } from '../../../../test/support/worlds/upload-runs.ts';
import { newId } from '../../../lib/ids.ts';
import type { Reconciliation } from '../types.ts';

const database = useDatabase();
const uploads = useUploadRuns(database);

const line = fc.record({
  campaign: fc.integer({ min: 1, max: 3 }),
  day: fc.integer({ min: 1, max: 2 }),
  device: fc.constantFrom('Computers', 'Tablets'),
  impressions: fc.integer({ min: 0, max: 3 }),
  cents: fc.integer({ min: -50, max: 900 }),
  fault: fc.constantFrom('none', 'none', 'none', 'none', 'day', 'spend'),
  currency: fc.constantFrom('USD', 'USD', 'USD', 'USD', 'USD', 'EUR'),
});
const file = fc.record({
  lines: fc.array(line, { minLength: 1, maxLength: 25 }),
  hasIds: fc.boolean(),
  hasDevice: fc.boolean(),
});
type File = typeof file extends fc.Arbitrary<infer T> ? T : never;

const amount = (cents: number) => (cents / 100).toFixed(2);

function written({ lines, hasIds, hasDevice }: File): string {
  const header = `Day,Campaign,${hasIds ? 'Campaign ID,' : ''}${hasDevice ? 'Device,' : ''}Impr.,Cost,Currency code`;
  const rows = lines.map(({ campaign, day, device, impressions, cents, fault, currency }) =>
    [
      fault === 'day' ? 'some day' : `2026-03-0${day}`,
      `C${campaign}`,
      ...(hasIds ? [`100${campaign}`] : []),
      ...(hasDevice ? [device] : []),
      impressions,
      fault === 'spend' ? 'much' : amount(cents),
      currency,
    ].join(),
  );
  return `${header}\n${rows.join('\n')}\n`;
}

const cents = (text: string | null | undefined): number => Math.round(Number(text ?? '0') * 100);

test('the lines of every file add up to what was promoted and what was refused', {
  timeout: 300_000,
}, async () => {
  const place = await uploads.place();
  const { kernel } = await uploads.start({ linesPerBatch: 4, promotionBatchRows: 3 });
  await fc.assert(
    fc.asyncProperty(file, async (given) => {
      const clientId = newId();
      const options = { platform: 'google', clientId, forcePartial: true };
      const upload = await uploads.take(place, written(given), options);
      await kernel.cycle({ budgetMs: 60_000, tenantId: place.tenantId });
      const record = await uploads.upload(upload);
      const [stored] = await database.owner<{ spend: string | null; impressions: string | null }>(
        `select sum(spend)::text as spend, sum(impressions)::text as impressions
           from daily_metrics where client_id = $1`,
        [clientId],
      );
      const { figures } = record.reconciliation as unknown as Reconciliation;
      const { spend, impressions } = figures;
      // What the file says, without knowing anything of keys and breakdowns.
      const readable = given.lines.filter(({ fault }) => fault !== 'spend');
      const said = readable.reduce((sum, one) => sum + one.cents, 0);
      expect(cents(spend?.lines) + cents(spend?.duplicates)).toBe(said);
      expect(spend?.unreadable ?? 0).toBe(spend === undefined ? 0 : given.lines.length - readable.length);
      expect(Number(impressions?.lines) + Number(impressions?.duplicates ?? 0)).toBe(
        given.lines.reduce((sum, one) => sum + one.impressions, 0),
      );
      expect(cents(spend?.promoted) + cents(spend?.refused)).toBe(cents(spend?.lines));
      expect(Number(impressions?.promoted ?? 0) + Number(impressions?.refused ?? 0)).toBe(
        Number(impressions?.lines),
      );
      expect([cents(stored?.spend), Number(stored?.impressions ?? 0)]).toEqual([
        cents(spend?.promoted),
        Number(impressions?.promoted ?? 0),
      ]);
      expect(Number(record.promoted_rows) + Number(record.failed_rows)).toBe(given.lines.length);
    }),
    { numRuns: 80 },
  );
});
