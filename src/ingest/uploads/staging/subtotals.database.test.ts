import { describe, expect, test } from 'vitest';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { useUploadRuns } from '../../../../test/support/worlds/upload-runs.ts';
import type { Reconciliation } from '../types.ts';

const database = useDatabase();
const uploads = useUploadRuns(database);

async function send(platform: string, lines: string[]) {
  const place = await uploads.place();
  const { kernel } = await uploads.start();
  const upload = await uploads.take(place, `${lines.join('\n')}\n`, { platform });
  await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
  await kernel.stop(1_000);
  const record = await uploads.upload(upload);
  const [sums] = await database.owner(
    `select sum(spend)::float8 as spend, sum(impressions)::integer as impressions,
            (select count(*)::integer from metric_breakdowns where tenant_id = $1) as breakdowns
       from daily_metrics where tenant_id = $1`,
    [place.tenantId],
  );
  const { agrees, figures } = record.reconciliation as Reconciliation;
  return {
    status: record.status,
    ...sums,
    agrees,
    duplicates: figures.spend?.duplicates ?? null,
    codes: (record.warnings as { code: string }[]).map(({ code }) => code),
  };
}

const ages = 'Campaign name,Campaign ID,Day,Age,Gender,Impressions,Amount spent (USD)';

describe('lines that sum up others of their key', () => {
  test('are not added to the lines that they sum up', async () => {
    const nested = [
      ages,
      'A,1,2026-03-01,All,All,60,6.00',
      'A,1,2026-03-01,18-24,All,30,3.00',
      'A,1,2026-03-01,18-24,male,10,1.00',
      'A,1,2026-03-01,18-24,female,20,2.00',
      'A,1,2026-03-01,25-34,All,30,3.00',
      'A,1,2026-03-01,25-34,male,30,3.00',
    ];
    expect(await send('meta', nested)).toEqual({
      status: 'completed',
      spend: 6,
      impressions: 60,
      breakdowns: 3,
      agrees: true,
      duplicates: '12',
      codes: ['lines_added_up', 'subtotals_left_out'],
    });
  });

  test('are data when no other line is more exact, or when the others add up to something else', async () => {
    const alone = [ages, 'A,1,2026-03-01,All,All,60,6.00', 'B,2,2026-03-01,All,All,10,1.00'];
    expect(await send('meta', alone)).toMatchObject({ spend: 7, impressions: 70, duplicates: null });
    const audiences = [
      'Campaign,Campaign ID,Day,Audience segment,Impr.,Cost',
      'A,1,2026-03-01,All,60,6.00',
      'A,1,2026-03-01,New customers,10,1.00',
    ];
    expect(await send('google', audiences)).toMatchObject({ spend: 7, impressions: 70, breakdowns: 2 });
  });

  test('are left out when they stand for all days', async () => {
    const pivot = [
      'Nombre de la campaña,Día,Impresiones,Importe gastado (USD)',
      'A,Todos,30,3.50',
      'A,2026-03-01,10,1.50',
      'A,2026-03-02,20,2.00',
    ];
    expect(await send('meta', pivot)).toMatchObject({
      status: 'completed',
      spend: 3.5,
      agrees: true,
      codes: ['subtotals_left_out', 'name_key'],
    });
  });
});

test.each([
  ['google', 'Subtotal,,30,3.5'],
  ['google', 'Sum,,30,3.5'],
  ['google', 'Zwischensumme,,30,3.5'],
  ['microsoft', 'Overall total - 2,,30,3.5'],
])('a total row of %s is none of the data: %s', async (platform, row) => {
  const lines = ['Campaign,Day,Impressions,Spend', 'A,2026-03-01,10,1.5', 'B,2026-03-01,20,2', row];
  expect(await send(platform, lines)).toMatchObject({ status: 'completed', spend: 3.5, agrees: true });
});

test('a line of a day that is called Total causes a warning', async () => {
  const lines = ['Campaign,Day,Impr.,Cost', 'A,2026-03-01,10,1.5', 'Total,2026-03-01,10,1.5'];
  expect((await send('google', lines)).codes).toContain('named_like_total');
});

test('a report whose spend has an unknown name says which columns with numbers are not read', async () => {
  const renamed = [
    'Nom de la campagne,Jour,Impressions,Mise,CTR,Note',
    'A,2026-03-01,10,"1 234,50 €","2,5 %",ok',
  ];
  expect((await send('meta', renamed)).codes).toContain('spend_not_read');
  const known = ['Nom de la campagne,Jour,Impressions,Montant dépensé (EUR),Mise', 'A,2026-03-01,10,1,2'];
  expect((await send('meta', known)).codes).not.toContain('spend_not_read');
  const rates = ['Nom de la campagne,Jour,Impressions,CTR', 'A,2026-03-01,10,"2,5 %"'];
  expect((await send('meta', rates)).codes).not.toContain('spend_not_read');
});
