import { describe, expect, test } from 'vitest';
import { useDatabase } from '../../../test/support/worlds/database.ts';
import { type IntakeOptions, useUploadRuns } from '../../../test/support/worlds/upload-runs.ts';

const database = useDatabase();
const uploads = useUploadRuns(database);

/** What must be stored, added up by hand from the lines of the file. */
interface Stored {
  table: 'daily' | 'period';
  spend: number | null;
  impressions?: number;
  breakdowns?: number;
  /** From the first to the last day. */
  days: [from: string, to: string];
}

interface Described extends IntakeOptions {
  platform: 'meta' | 'google' | 'tiktok';
  lines: readonly string[];
  /** Written as the platform writes it; UTF-8 unless it says otherwise. */
  encoding?: 'utf16le';
  stored?: Stored;
  refused?: string;
}

const m = (columns: string, ...rows: string[]) => [columns, ...rows];
const metaDay = 'Campaign name,Campaign ID,Day';
const metaFigures = 'Impressions,Amount spent (USD)';
const oneDay = (spend: number, more: Partial<Stored> = {}): Stored => ({
  table: 'daily',
  spend,
  days: ['2026-03-01', '2026-03-01'],
  ...more,
});
const march = (spend: number, more: Partial<Stored> = {}): Stored => ({
  table: 'period',
  spend,
  days: ['2026-03-01', '2026-03-31'],
  ...more,
});
/** A daily Meta report with two lines of one campaign that differ in one column. */
const byColumn = (column: string, one: string, other: string): Described => ({
  platform: 'meta',
  lines: m(
    `${metaDay},${column},${metaFigures}`,
    `A,1,2026-03-01,${one},100,1.50`,
    `A,1,2026-03-01,${other},50,2.25`,
  ),
  stored: oneDay(3.75, { impressions: 150, breakdowns: 2 }),
});
const google = (range: string, columns: string, ...rows: string[]) => [
  'Campaign report',
  range,
  columns,
  ...rows,
];
const googleDay = 'Campaign,Campaign ID,Day';
const googleFigures = 'Impr.,Cost,Currency code';
const byGoogle = (column: string, one: string, other: string): Described => ({
  platform: 'google',
  lines: google(
    '"March 1, 2026 - March 1, 2026"',
    `${googleDay},${column},${googleFigures}`,
    `A,1,2026-03-01,${one},"1,000",1.50,USD`,
    `A,1,2026-03-01,${other},50,2.25,USD`,
    'Total: Account, --, --, --,"1,050",3.75,USD',
  ),
  stored: oneDay(3.75, { impressions: 1050, breakdowns: 2 }),
});

const described: Record<string, Described> = {
  'Meta by age': byColumn('Age', '18-24', '25-34'),
  'Meta by gender': byColumn('Gender', 'female', 'unknown'),
  'Meta by placement': byColumn('Placement', 'feed', 'instream_video'),
  'Meta by platform': byColumn('Platform', 'facebook', 'instagram'),
  'Meta by device platform': byColumn('Device platform', 'mobile_app', 'desktop'),
  'Meta by impression device': byColumn('Impression device', 'iphone', 'android_smartphone'),
  'Meta by region': byColumn('Region', 'Bavaria', 'São Paulo (state)'),
  'Meta by country': byColumn('Country', 'DE', 'BR'),
  'Meta by hour': byColumn(
    'Time of day (ad account time zone)',
    '00:00:00 - 00:59:59',
    '01:00:00 - 01:59:59',
  ),
  'Meta by product': byColumn('Product ID', '0005, a shirt'.replace(',', ' '), '0006'),
  'Meta by age and gender': {
    platform: 'meta',
    lines: m(
      `${metaDay},Age,Gender,Reach,${metaFigures}`,
      'A,1,2026-03-01,18-24,female,40,100,1.50',
      'A,1,2026-03-01,18-24,male,40,50,2.25',
      'A,1,2026-03-01,25-34,male,30,50,0.25',
    ),
    stored: oneDay(4, { impressions: 200, breakdowns: 3 }),
  },
  'Meta without a day, its range in every line': {
    platform: 'meta',
    lines: m(
      `Reporting starts,Reporting ends,Campaign name,Campaign delivery,Results,${metaFigures},Ends`,
      '2026-03-01,2026-03-31,A,active,3,1000,10.50,Ongoing',
      '2026-03-01,2026-03-31,B,inactive,-,500,4.25,2026-03-20',
    ),
    stored: march(14.75, { impressions: 1500 }),
  },
  'Meta without a day, by age': {
    platform: 'meta',
    lines: m(
      `Reporting starts,Reporting ends,Campaign name,Campaign ID,Age,${metaFigures}`,
      '2026-03-01,2026-03-31,A,1,18-24,1000,10.50',
      '2026-03-01,2026-03-31,A,1,25-34,500,4.25',
    ),
    stored: march(14.75, { impressions: 1500, breakdowns: 2 }),
  },
  'Meta whose range is one day': {
    platform: 'meta',
    lines: m(
      `Reporting starts,Reporting ends,Campaign name,${metaFigures}`,
      '2026-03-01,2026-03-01,A,1000,10.50',
    ),
    stored: oneDay(10.5),
  },
  'Meta with the totals first and blank names': {
    platform: 'meta',
    lines: m(
      `${metaDay},${metaFigures}`,
      ',,,300,7.75',
      'A,1,2026-03-01,100,1.50',
      'B,2,2026-03-01,200,6.25',
    ),
    stored: oneDay(7.75, { impressions: 300 }),
  },
  'Meta by ad without a campaign': {
    platform: 'meta',
    lines: m(`Ad name,Day,${metaFigures}`, 'Ad one,2026-03-01,100,1.50', 'Ad two,2026-03-01,200,6.25'),
    stored: oneDay(7.75, { impressions: 300 }),
  },
  'Meta with the header Ads': {
    platform: 'meta',
    lines: m(`Ads,Day,${metaFigures}`, 'Ad one,2026-03-01,100,1.50', 'Ad two,2026-03-01,200,6.25'),
    stored: oneDay(7.75, { impressions: 300 }),
  },
  'Meta with link clicks only': {
    platform: 'meta',
    lines: m(`${metaDay},Link clicks,${metaFigures}`, 'A,1,2026-03-01,7,100,1.50'),
    stored: oneDay(1.5),
  },
  'Meta with a header twice': {
    platform: 'meta',
    lines: m(`${metaDay},Results,Results,${metaFigures}`, 'A,1,2026-03-01,1,1,100,1.50'),
    stored: oneDay(1.5),
  },
  'Meta in Japanese yen': {
    platform: 'meta',
    lines: m(
      'キャンペーン名,キャンペーンID,日,インプレッション,消化金額 (JPY)',
      'A,1,2026-03-01,"1,234","12,345"',
    ),
    stored: oneDay(12_345, { impressions: 1234 }),
  },
  'Meta in Indonesian rupiah': {
    platform: 'meta',
    lines: m(
      'Campaign name,Campaign ID,Day,Impressions,Amount spent (IDR)',
      'A,1,2026-03-01,10,1500000',
      'B,2,2026-03-01,10,250000',
    ),
    stored: oneDay(1_750_000),
  },
  'Meta in Brazilian reais': {
    platform: 'meta',
    lines: m(
      'Nome da campanha;Identificação da campanha;Dia;Impressões;Valor usado (BRL)',
      'A;1;2026-03-01;1.000;R$ 1.234,56',
      'B;2;2026-03-01;500;R$ 59,90',
    ),
    stored: oneDay(1294.46, { impressions: 1500 }),
  },
  'Meta in Spanish with the euro behind': {
    platform: 'meta',
    lines: m(
      'Nombre de la campaña;Día;Impresiones;Importe gastado (EUR)',
      'A;2026-03-01;1 000;1.234,56 €',
      'B;2026-03-01;500;59,9 €',
    ),
    stored: oneDay(1294.46, { impressions: 1500 }),
  },
  'an empty Meta export': { platform: 'meta', lines: ['No data available.'], refused: 'no_data_available' },
  'Meta without any range': {
    platform: 'meta',
    lines: m(`Campaign name,${metaFigures}`, 'A,100,1.50'),
    refused: 'period_unknown',
  },
  'Meta without any range, given one': {
    platform: 'meta',
    lines: m(`Campaign name,${metaFigures}`, 'A,100,1.50', 'B,200,2.00'),
    dateFrom: '2026-03-01',
    dateTo: '2026-03-31',
    stored: march(3.5, { impressions: 300 }),
  },
  'Google by keyword': byGoogle('Search keyword', '[shoes]', '"red shoes"'.replaceAll('"', '')),
  'Google by search term': byGoogle('Search term', 'buy shoes', 'shoes near me'),
  'Google by match type': byGoogle('Match type', 'Exact match', 'Broad match'),
  'Google by device': byGoogle('Device', 'Computers', 'Mobile phones'),
  'Google by network': byGoogle('Network', 'Google search', 'Search partners'),
  'Google by conversion action': {
    platform: 'google',
    lines: google(
      '"March 1, 2026 - March 1, 2026"',
      `${googleDay},Conversion action,Conversions`,
      'A,1,2026-03-01,Purchase,2.50',
      'A,1,2026-03-01,Sign-up,1.00',
    ),
    stored: oneDay(0, { spend: null, breakdowns: 2 }),
  },
  'Google without a day, its range in the second line': {
    platform: 'google',
    lines: google(
      '"March 1, 2026 - March 31, 2026"',
      `Campaign status,Campaign,Campaign ID,Budget,${googleFigures}`,
      'Enabled,A,1,10.00,"1,000",1.50,USD',
      'Paused,B,2, --,500,2.25,USD',
      'Total: Campaigns, --, --, --,"1,500",3.75,USD',
      'Total: Account, --, --,10.00,"1,700",4.75,USD',
    ),
    stored: march(3.75, { impressions: 1500 }),
  },
  'Google without a day, by keyword': {
    platform: 'google',
    lines: google(
      '"March 1, 2026 - March 31, 2026"',
      `Campaign,Campaign ID,Search keyword,${googleFigures}`,
      'A,1,shoes,1000,1.50,USD',
      'A,1,boots,500,2.25,USD',
    ),
    stored: march(3.75, { impressions: 1500, breakdowns: 2 }),
  },
  'Google of all time': {
    platform: 'google',
    lines: google('All time', `Campaign,Campaign ID,${googleFigures}`, 'A,1,1000,1.50,USD'),
    refused: 'period_unknown',
  },
  'Google of all time, given a range': {
    platform: 'google',
    lines: google('All time', `Campaign,Campaign ID,${googleFigures}`, 'A,1,1000,1.50,USD'),
    dateFrom: '2026-03-01',
    dateTo: '2026-03-31',
    stored: march(1.5, { impressions: 1000 }),
  },
  'Google in UTF-16 with tabs': {
    platform: 'google',
    encoding: 'utf16le',
    lines: google(
      'March 1, 2026 - March 1, 2026',
      'Campaign\tCampaign ID\tDay\tImpr.\tCost\tCurrency code',
      'Ä\t1\t2026-03-01\t1,000\t1.50\tUSD',
      'Total: Account\t --\t --\t1,000\t1.50\tUSD',
    ),
    stored: oneDay(1.5, { impressions: 1000 }),
  },
  'Google in Portuguese': {
    platform: 'google',
    lines: google(
      '"1 de março de 2026 - 1 de março de 2026"',
      'Campanha,ID da campanha,Dia,Impr.,Custo,Código da moeda',
      'A,1,2026-03-01,18\u00a0158,"2473,94",EUR',
      'Total: Campanhas, --, --,18\u00a0158,"2473,94",EUR',
    ),
    stored: oneDay(2473.94, { impressions: 18_158 }),
  },
  'AdWords of old with its totals': {
    platform: 'google',
    lines: google(
      '"Mar 1, 2026-Mar 1, 2026"',
      `${googleDay},${googleFigures}`,
      'A,1,2026-03-01,1000,1.50,USD',
      'Total - content, --, --,0,0.00,USD',
      'Total - Search, --, --,1000,1.50,USD',
      'Total - all experiments, --, --,1000,1.50,USD',
      'Total - filtered, --, --,1000,1.50,USD',
      'Total - all, --, --,1000,1.50,USD',
    ),
    stored: oneDay(1.5, { impressions: 1000 }),
  },
  'a bulk sheet of Google': {
    platform: 'google',
    lines: m(
      'Row Type,Action,Campaign status,Campaign ID,Campaign,Budget',
      'Campaign,Edit,Enabled,1,A,10.00',
    ),
    refused: 'bulk_sheet_not_a_report',
  },
  'Google that is said to be Meta': {
    platform: 'meta',
    lines: google(
      '"March 1, 2026 - March 1, 2026"',
      `Campaign status,${googleDay},Campaign type,Avg. CPC,Impr.,Cost,Currency code,Conv. rate`,
      'Enabled,A,1,2026-03-01,Search,0.10,1000,1.50,USD,1.00%',
    ),
    refused: 'wrong_platform',
  },
  'TikTok by day': {
    platform: 'tiktok',
    lines: m(
      'By Day,Campaign name,Ad group name,Ad name,Website URL (Ad level）,Currency,Cost,Impressions,' +
        'Clicks (destination),Reach,Conversions',
      '2026-03-01,A,G,One,https://example.com,USD,1.50,100,7,60,-',
      '2026-03-01,A,G,Two,https://example.com,USD,2.25,50,3,40,1',
      'Total of 2 results,-,-,-,-,USD,3.75,150,10,90,1',
    ),
    stored: oneDay(3.75, { impressions: 150 }),
  },
  'TikTok by hour': {
    platform: 'tiktok',
    lines: m(
      'By Hour,Campaign name,Campaign ID,Currency,Cost,Impressions',
      '2026-03-01 00:00,A,1,USD,1.50,100',
      '2026-03-01 01:00,A,1,USD,2.25,50',
    ),
    stored: oneDay(3.75, { impressions: 150, breakdowns: 2 }),
  },
  'TikTok without a day, its range in the file name': {
    platform: 'tiktok',
    filename: 'Campaign Report-2026-03-01 to 2026-03-31.csv',
    lines: m('Campaign name,Campaign ID,Currency,Cost,Impressions', 'A,1,USD,1.50,100', 'B,2,USD,2.00,10'),
    stored: march(3.5, { impressions: 110 }),
  },
  'TikTok without any range': {
    platform: 'tiktok',
    lines: m('Campaign name,Campaign ID,Currency,Cost,Impressions', 'A,1,USD,1.50,100'),
    refused: 'period_unknown',
  },
  'TikTok in Japanese': {
    platform: 'tiktok',
    lines: m(
      '日別,キャンペーン名,クリック（誘導先）,クリック（すべて）,インプレッション数,消化金額,通貨',
      '2026-03-01,A,7,9,100,150,JPY',
      '2026-03-01,B,3,4,50,225,JPY',
      '全2件の結果,-,10,13,150,375,JPY',
    ),
    stored: oneDay(375, { impressions: 150 }),
  },
  'insights of Meta by product': {
    platform: 'meta',
    lines: [
      JSON.stringify({
        data: ['0005', '0006', '0007'].map((id, at) => ({
          ...{ campaign_id: '1', campaign_name: 'A', date_start: '2026-03-01', date_stop: '2026-03-01' },
          ...{ product_id: `${id}, a thing`, spend: ['8.53', '8.35', '6.00'][at], impressions: '10' },
        })),
      }),
    ],
    stored: oneDay(22.88, { impressions: 30, breakdowns: 3 }),
  },
};

async function outcome({ lines, encoding, stored: _, refused: _refused, ...options }: Described) {
  const place = await uploads.place();
  const { kernel } = await uploads.start();
  const text = `${lines.join('\n')}\n`;
  const content = encoding === 'utf16le' ? Buffer.from(`\ufeff${text}`, 'utf16le') : text;
  const upload = await uploads.take(place, content, options);
  await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
  await kernel.stop(1_000);
  const record = await uploads.upload(upload);
  const [found] = await database.owner(
    `select (select count(*)::integer from daily_metrics where tenant_id = $1) as daily,
            (select count(*)::integer from period_metrics where tenant_id = $1) as period,
            (select count(*)::integer from metric_breakdowns where tenant_id = $1) as breakdowns,
            sum(spend)::float8 as spend, sum(impressions)::integer as impressions,
            min(first)::text as "from", max(last)::text as "to"
       from (select spend, impressions, metric_date as first, metric_date as last from daily_metrics
              where tenant_id = $1
              union all
             select spend, impressions, date_from, date_to from period_metrics where tenant_id = $1) f`,
    [place.tenantId],
  );
  return { record, found: found as Record<string, unknown> };
}

describe('a file as people have it', () => {
  test.each(Object.entries(described))(
    '%s is stored whole, or refused with its reason',
    async (_name, file) => {
      const { record, found } = await outcome(file);
      if (file.stored === undefined) {
        expect(record).toMatchObject({ status: 'failed', error_code: file.refused });
        expect(found).toMatchObject({ daily: 0, period: 0, breakdowns: 0 });
        return;
      }
      const { table, spend, impressions, breakdowns = 0, days } = file.stored;
      expect({ status: record.status, text: record.error_text }).toEqual({ status: 'completed', text: null });
      expect(found).toMatchObject({ breakdowns, from: days[0], to: days[1], spend });
      if (impressions !== undefined) expect(found.impressions).toBe(impressions);
      expect(found[table === 'daily' ? 'period' : 'daily']).toBe(0);
      expect((record.reconciliation as { agrees: boolean }).agrees).toBe(true);
    },
  );
});
