import { describe, expect, test } from 'vitest';
import { hasOwnDays } from './file-range.ts';
import { readHeaderName } from './header-names.ts';
import { builtInPlatforms } from './platforms/built-in.ts';
import { profileOf } from './profile.ts';
import { languages, type MappedColumns, type ReportField, reportFields } from './types.ts';

const definitions = Object.values(builtInPlatforms);
const headersOf = (columns: MappedColumns, field: ReportField) =>
  columns.fields[field]?.map(({ header }) => header);
const failOf = (found: { at: number } | { fails: { code: string; message: string } }) =>
  'fails' in found ? found.fails : null;

describe.each(
  definitions.flatMap((definition) =>
    languages
      .filter((language) => definition.aliases[language] !== undefined)
      .map((language) => ({ definition, language })),
  ),
)('$definition.platform in $language', ({ definition, language }) => {
  const table = definition.aliases[language] ?? {};
  const fields = reportFields.filter((field) => table[field] !== undefined);
  const best = fields.map((field) => table[field]?.[0] ?? '');
  const profile = profileOf(definition.platform);

  test('the best name of every field is mapped to it, and the language is recognized', () => {
    const columns = profile.mapHeaders(best);
    expect(fields.map((field) => headersOf(columns, field))).toEqual(best.map((header) => [header]));
    expect(columns.languages).toContain(language);
    expect(columns.notes).toEqual([]);
    expect(profile.findMissing(columns)).toBeNull();
  });

  test('every other name is mapped to its field beside the best names of the others', () => {
    for (const [at, field] of fields.entries()) {
      for (const name of table[field] ?? []) {
        const columns = profile.mapHeaders(best.with(at, name));
        expect([name, headersOf(columns, field)]).toEqual([name, [name]]);
      }
    }
  });

  test('case, spaces and punctuation of headers do not matter', () => {
    const columns = profile.mapHeaders(
      best.map((header) => ` ${header.toUpperCase().replaceAll(' ', '  ')}: `),
    );
    expect(fields.map((field) => columns.fields[field]?.map(({ index }) => index))).toEqual(
      best.map((_, index) => [index]),
    );
  });
});

test('the currency in the bracket of a header is read, except for signs that several currencies share', () => {
  const currencies = [
    'Amount spent (AUD)',
    'Importe gastado（EUR）',
    '消化金額 (JPY)',
    'Cost [usd]',
    'Cost (€)',
    'Cost ($)',
  ];
  expect(currencies.map((header) => readHeaderName(header).currency)).toEqual([
    'AUD',
    'EUR',
    'JPY',
    'USD',
    'EUR',
    null,
  ]);
  expect(profileOf('meta').mapHeaders(['Amount spent (AUD)']).currency).toBe('AUD');
  expect(headersOf(profileOf('meta').mapHeaders(['Amount spent ($)']), 'spend')).toEqual([
    'Amount spent ($)',
  ]);
});

test('a header with any other bracket than a currency or level is only suggested', () => {
  const columns = profileOf('google').mapHeaders(['Day', 'Campaign', 'Cost', 'Conversions (by conv. time)']);
  expect(columns.fields.conversions).toBeUndefined();
  expect(columns.unmapped).toEqual([
    { index: 3, header: 'Conversions (by conv. time)', suggestion: 'conversions' },
  ]);
});

test('a ratio whose name contains that of a figure is not read as the figure', () => {
  const headers = [
    'Cost / conv.',
    'Conv. rate',
    'Avg. CPC',
    'CTR',
    'Cost per 1,000 people reached',
    'CPC (destination)',
  ];
  for (const { platform } of definitions) expect(profileOf(platform).mapHeaders(headers).fields).toEqual({});
});

test('clicks are all clicks, and link clicks have a field of their own, in exports of Meta and TikTok', () => {
  const columns = profileOf('meta').mapHeaders(['Clicks (all)', 'Results', 'Link clicks', 'Purchases']);
  expect([headersOf(columns, 'clicks'), headersOf(columns, 'link_clicks')]).toEqual([
    ['Clicks (all)'],
    ['Link clicks'],
  ]);
  expect(headersOf(columns, 'conversions')).toEqual(['Purchases']);
  expect(columns.notes.map(({ code }) => code)).toEqual(['passed_over']);
  const onTikTok = profileOf('tiktok').mapHeaders(['クリック（すべて）', 'クリック（誘導先）']);
  expect([headersOf(onTikTok, 'clicks'), headersOf(onTikTok, 'link_clicks')]).toEqual([
    ['クリック（すべて）'],
    ['クリック（誘導先）'],
  ]);
  const onlyLinks = profileOf('meta').mapHeaders(['Link clicks']);
  expect([onlyLinks.fields.clicks, headersOf(onlyLinks, 'link_clicks')]).toEqual([
    undefined,
    ['Link clicks'],
  ]);
});

test('in JSON every member that can fill a field is kept, the widest purchase first', () => {
  const paths = [
    'actions.offsite_conversion.fb_pixel_purchase',
    'actions.purchase',
    'inline_link_clicks',
    'clicks',
    'actions.omni_purchase',
  ];
  const columns = profileOf('meta').mapHeaders(paths, { format: 'json' });
  expect(headersOf(columns, 'conversions')).toEqual([paths[4], paths[1], paths[0]]);
  expect(headersOf(columns, 'clicks')).toEqual(['clicks']);
  expect(headersOf(columns, 'link_clicks')).toEqual(['inline_link_clicks']);
});

test('cost in millionths is marked as such in both spellings of the API', () => {
  const unit = (path: string) =>
    profileOf('google').mapHeaders([path], { format: 'json' }).fields.spend?.[0]?.unit;
  expect([unit('metrics.costMicros'), unit('metrics.cost_micros'), unit('metrics.cost')]).toEqual([
    'micros',
    'micros',
    'plain',
  ]);
});

test('a repeated header fills its field from the first column, with a note', () => {
  const columns = profileOf('meta').mapHeaders(['Results', 'Day', 'Results']);
  expect(columns.fields.conversions?.map(({ index }) => index)).toEqual([0, 2]);
  expect(columns.notes.map(({ code }) => code)).toEqual(['duplicate_header']);
});

test('a person’s mapping takes precedence over every alias, and null leaves a column out', () => {
  const mapping = { Kostenpunkt: 'spend', Clicks: null, constructor: 'ad_name' } as const;
  const columns = profileOf('google').mapHeaders(['Cost', 'Kostenpunkt', 'Clicks', 'toString'], { mapping });
  expect(headersOf(columns, 'spend')).toEqual(['Kostenpunkt']);
  expect(columns.fields.clicks).toBeUndefined();
  expect(columns.unmapped.map(({ header }) => header)).toEqual(['toString']);
});

test('an unknown header gets a suggestion only if a name is similar', () => {
  const { unmapped } = profileOf('google').mapHeaders(['Impresions', 'Campain', 'Weather', '']);
  expect(unmapped.map(({ suggestion }) => suggestion)).toEqual(['impressions', 'campaign_name', null]);
});

test('the header is the line with the most known names, below any titles', () => {
  const lines = [
    ['Campaign report'],
    ['March 27, 2026 - April 23, 2026'],
    ['Campaign', 'Day', 'Cost'],
    ['A', 'B', '1'],
  ];
  expect(profileOf('google').findHeader(lines)).toEqual({ at: 2, known: 3 });
});

test('a header that only a mapping knows is found with the mapping', () => {
  const lines = [['Foo', 'Bar', 'Baz']];
  const mapping = { Foo: 'metric_date', Bar: 'campaign_name', Baz: 'spend' } as const;
  expect(profileOf('google').findHeader(lines, { mapping })).toEqual({ at: 0, known: 3 });
});

test.each([[[['No data available.']]], [[['Campaign name', 'Day', 'Reach'], ['No data available.']]]])(
  'an export that states that it has no data is an error of the file',
  (lines) => {
    expect(failOf(profileOf('meta').findHeader(lines))?.code).toBe('no_data_available');
  },
);

test('a bulk-edit sheet is not read as a report', () => {
  const lines = [['Row Type', 'Action', 'Campaign status', 'Campaign', 'Day', 'Cost']];
  expect(failOf(profileOf('google').findHeader(lines))?.code).toBe('bulk_sheet_not_a_report');
});

test('missing columns are named with examples, the columns seen and the nearest match', () => {
  const fails = failOf(profileOf('google').findHeader([['Campagn', 'Day', 'Cost', 'Foo']]));
  expect(fails?.code).toBe('required_columns_missing');
  expect(fails?.message).toBe(
    'This Google Ads report has no column for the campaign (for example "Campaign", "Campaign ID"); columns seen: ' +
      '"Campagn", "Day", "Cost", "Foo"; nearest match: "Campagn" for the campaign.',
  );
});

test('the error of a file without any known column lists its columns', () => {
  const fails = failOf(
    profileOf('tiktok').findHeader([
      ['a', 'b'],
      ['1', '2', '3'],
    ]),
  );
  expect(fails?.message).toContain('columns seen: "1", "2", "3"; nearest match: none');
  expect(failOf(profileOf('tiktok').findHeader([]))?.code).toBe('required_columns_missing');
});

test('a range needs both its start and its end', () => {
  const profile = profileOf('meta');
  const hasDays = (...headers: string[]) => hasOwnDays(profile.mapHeaders(headers));
  expect(hasDays('Reporting starts', 'Campaign name', 'Reach')).toBe(false);
  expect(hasDays('Reporting starts', 'Reporting ends', 'Campaign name', 'Reach')).toBe(true);
});

test.each([
  ['День,Кампания,Группа объявлений,Показы,Расходы', 'google'],
  ['Tag,Kampagne,Anzeigengruppe,Währungscode,Impr.,Klicks,Kosten', 'google'],
  ['Day,Campaign,Cost,Clicks,Impr.', 'google'],
  ['日,キャンペーン,通貨コード,表示回数,クリック数,費用', 'google'],
  ['Jour,Campagne,Coût,Impr.', 'google'],
])('the columns %s, said to be of TikTok, are those of %s', (columns, looksLike) => {
  const found = profileOf('tiktok').findHeader([columns.split(',')]);
  expect(found).toMatchObject({ fails: { code: 'wrong_platform', details: { looks_like: looksLike } } });
});

test.each([
  ['google', 'date,campaign_name,ad_set_name,ad_name,impressions,clicks,spend'],
  ['tiktok', 'metric_date,campaign_name,ad_set_name,impressions,link_clicks,spend,conversion_value'],
  ['tiktok', 'Date,Campaign,Ad group,Spend,Impressions,Clicks,Conversions,Revenue'],
  ['meta', 'Date,Campaign,Spend,Impressions,Clicks,Conversions'],
  ['google', 'Date,Campaign,Spend,Impressions,Clicks,Conversions,Revenue'],
])('a table of people’s own for %s is read: %s', (platform, columns) => {
  expect(profileOf(platform).findHeader([columns.split(',')])).toMatchObject({ at: 0 });
});

test('columns that only TikTok has tell its reports from Google’s, whatever else they share', () => {
  const found = profileOf('google').findHeader([
    ['日', '広告名', 'インプレッション', 'コスト', 'コンバージョン'],
  ]);
  expect(found).toMatchObject({ fails: { code: 'wrong_platform', details: { looks_like: 'tiktok' } } });
});
