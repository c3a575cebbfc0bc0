import { describe, expect, test } from 'vitest';
import type { ReportConventions } from '../conventions.ts';
import { profileOf } from '../profile.ts';
import type { MapOptions, ParsedLine, Platform } from '../types.ts';

const undecided: ReportConventions = { decimalMark: null, dateOrder: null };

interface Setting extends MapOptions {
  platform?: Platform;
  conventions?: ReportConventions;
}

/** Turns rows into lines; the header is written as `Day|Campaign`. */
function reading(header: string, { platform = 'google', conventions = undecided, ...options }: Setting = {}) {
  const profile = profileOf(platform);
  const columns = profile.mapHeaders(header.split('|'), options);
  const read = profile.compileLines(columns, { conventions });
  return (row: string): ParsedLine => read({ rowIndex: 7, line: 11, cells: row.split('|') });
}

const codesOf = (line: ParsedLine) =>
  line.kind === 'invalid' ? line.problems.map(({ field, code }) => `${field}: ${code}`) : line.kind;

const valid = (line: ParsedLine) => {
  if (line.kind !== 'valid' || line.campaign === null) throw new Error(`Not valid: ${JSON.stringify(line)}`);
  return { ...line, campaign: line.campaign };
};

describe('ids and names', () => {
  const read = reading('Day|Campaign ID|Campaign|Ad group ID|Ad group|Clicks');

  test('ids are kept as they are written, however long', () => {
    const { campaign, adSet } = valid(read('2026-03-27|0001202900719925474|A|1234567890123456789|S|1'));
    expect([campaign.externalId, adSet?.externalId]).toEqual(['0001202900719925474', '1234567890123456789']);
    expect([campaign.isNameKey, adSet?.isNameKey]).toEqual([false, false]);
  });

  test.each(['1.2E+17', '1.20E+17', '1,2E+17', '1.2e17'])(
    '%s is refused as an id that a spreadsheet damaged',
    (id) => {
      const line = read(`2026-03-27|${id}|A|||1`);
      expect(codesOf(line)).toEqual(['campaign_id: id_damaged_by_spreadsheet']);
      expect(line.kind === 'invalid' && line.problems[0]).toMatchObject({
        value: id,
        message: expect.stringContaining(
          'Column "Campaign ID": A spreadsheet turned this id into a rounded number',
        ),
      });
    },
  );

  test.each(['c:120290', '12 34', '12.0', 'abc', '１２', '1'.repeat(65)])('%s is not an id', (id) => {
    expect(codesOf(read(`2026-03-27|1|A|${id}|S|1`))).toEqual(['ad_set_id: invalid_id']);
  });

  test('an id of 64 digits is an id', () => {
    expect(valid(read(`2026-03-27|${'9'.repeat(64)}|A|||1`)).campaign.externalId).toBe('9'.repeat(64));
  });

  test('the path of names is the key when there are no ids, with one warning', () => {
    const byName = reading('Day|Campaign name|Ad set name|Ad name|Reach', { platform: 'meta' });
    const { campaign, adSet, ad, warnings } = valid(byName('2026-03-27|Summer "25"| Broad |Ad, 1|5'));
    expect(campaign).toEqual({
      externalId: 'name:["Summer \\"25\\""]',
      isNameKey: true,
      name: 'Summer "25"',
      status: null,
      type: null,
    });
    expect(adSet?.externalId).toBe('name:["Summer \\"25\\"","Broad"]');
    expect(ad?.externalId).toBe('name:["Summer \\"25\\"","Broad","Ad, 1"]');
    expect(warnings.map(({ code }) => code)).toEqual(['name_key']);
  });

  test('ad sets with the same name in two campaigns with the same name are distinguished by the campaigns’ ids', () => {
    const first = valid(read('2026-03-27|1|Same||Broad|1'));
    const second = valid(read('2026-03-27|2|Same||Broad|1'));
    expect([first.adSet?.externalId, second.adSet?.externalId]).toEqual([
      'name:["id:1","Broad"]',
      'name:["id:2","Broad"]',
    ]);
  });

  test('a change of name or status in the middle of a file is noticed', () => {
    const readStatus = reading('Day|Campaign ID|Campaign|Campaign status|Campaign type|Clicks');
    const lines = ['Old|Enabled|Search', 'New|Enabled|Search', 'New|Paused|Search', 'New|Paused|Video'];
    const seen = lines.map((cells) => valid(readStatus(`2026-03-27|1|${cells}|1`)).campaign);
    expect(seen.map(({ name, status, type }) => `${name}|${status}|${type}`)).toEqual(lines);
  });

  test('a report that names only ads by their ids is accepted without campaigns', () => {
    const byAd = reading('dimensions.stat_time_day|dimensions.ad_id|metrics.spend', {
      platform: 'tiktok',
      format: 'json',
    });
    expect(byAd('2021-10-25 00:00:00|1712345678901234567|5.10')).toMatchObject({
      kind: 'valid',
      campaign: null,
      adSet: null,
      ad: { externalId: '1712345678901234567', isNameKey: false },
      metric: { metricDate: '2021-10-25', spend: '5.1' },
    });
    expect(codesOf(byAd('2021-10-25 00:00:00||5.10'))).toEqual(['ad_id: missing_campaign']);
  });

  test('a row without a campaign is refused, and dashes are not a name', () => {
    expect(codesOf(read('2026-03-27| --||3|S|1'))).toEqual(['campaign_name: missing_campaign']);
    expect(valid(read('2026-03-27|1|NA|--|-|1')).adSet).toBeNull();
    expect(valid(read('2026-03-27|1|NA|--|-|1')).campaign.name).toBe('NA');
  });
});

describe('days', () => {
  const read = reading('Day|Reporting starts|Reporting ends|Campaign name|Reach', { platform: 'meta' });

  test('the day column takes precedence over the period', () => {
    expect(valid(read('2026-03-28|2026-03-01|2026-03-31|A|1')).metric.metricDate).toBe('2026-03-28');
  });

  test('a period of one day means that day', () => {
    expect(valid(read('|2026-03-28|2026-03-28|A|1')).metric.metricDate).toBe('2026-03-28');
  });

  test('a longer range keeps its last day, and one that ends before it begins is refused', () => {
    const range = { metricDate: '2026-03-01', dateTo: '2026-03-31' };
    expect(valid(read('|2026-03-01|2026-03-31|A|1')).metric).toMatchObject(range);
    expect(codesOf(read('|2026-03-31|2026-03-01|A|1'))).toEqual(['period_end: range_reversed']);
  });

  test('a row without a day is refused', () => {
    expect(codesOf(read('|||A|1'))).toEqual(['metric_date: missing_date']);
    expect(codesOf(read('|2026-03-01|-|A|1'))).toEqual(['metric_date: missing_date']);
  });

  test('an undecided order of day and month is a problem of the row', () => {
    expect(codesOf(read('03/04/2026|||A|1'))).toEqual(['metric_date: ambiguous_date']);
    const decided = reading('Day|Campaign|Cost', { conventions: { decimalMark: null, dateOrder: 'dmy' } });
    expect(valid(decided('03/04/2026|A|1')).metric.metricDate).toBe('2026-04-03');
  });
});

describe('totals', () => {
  const google = reading('Campaign status|Campaign|Day|Campaign ID|Clicks|Cost');
  const label = (text: string) => google(`${text}| --| --| --|795,836|103606.77`).kind;

  test.each([
    'Total: Campaigns',
    'Total: Account',
    'Total: Search',
    'Total: Campanhas',
    'Total : compte',
    'Gesamt: Konto',
    'Totale: Campagne',
    'Totaal: campagnes',
    'Łącznie: kampanie',
    'Toplam: Kampanyalar',
    '合計: キャンペーン',
    '合計：アカウント',
    '总计：广告系列',
    'Total',
  ])('"%s" without date and id is dropped', (text) => {
    expect(label(text)).toBe('total');
  });

  test('a campaign that is called like a total stays when it has a date', () => {
    expect(valid(google('Enabled|Total: Sale|2026-03-27|55|1|2')).campaign.name).toBe('Total: Sale');
    const byName = reading('Campaign|Day|Cost');
    expect(valid(byName('Total: Sale|2026-03-27|2')).campaign.name).toBe('Total: Sale');
  });

  test('a campaign that is called like a total is not dropped for lack of a date when it has an id', () => {
    expect(codesOf(google('|Total: Sale| --|55|1|2'))).toEqual(['metric_date: missing_date']);
  });

  test('a row that only lacks a date is refused and not dropped', () => {
    expect(codesOf(google('Enabled|Totally new| --| --|1|2'))).toEqual(['metric_date: missing_date']);
  });

  const tiktok = reading('By Day|Campaign name|Cost', { platform: 'tiktok' });
  test.each([
    'Total of 2 results',
    'Total of 1,234 results',
    '全2件の結果',
    '全 12 件の結果',
    '共2条结果',
    'Total de 3 resultados',
  ])('"%s" in place of the day is dropped', (text) => {
    expect(tiktok(`${text}|-|99.5`).kind).toBe('total');
  });

  const meta = reading('Reporting starts|Reporting ends|Campaign name|Day|Reach', { platform: 'meta' });
  test('a row of Meta with blank names and no day is the sum of the others', () => {
    expect(meta('2026-03-01|2026-03-31|||5').kind).toBe('total');
    expect(meta('2026-03-01|2026-03-01|-||5').kind).toBe('total');
  });

  test('a row of Meta with a day but no name is refused, not dropped', () => {
    expect(codesOf(meta('2026-03-01|2026-03-01||2026-03-01|5'))).toEqual(['campaign_name: missing_campaign']);
  });

  test('blank names are not a total on other platforms', () => {
    expect(codesOf(tiktok('2026-03-01|-|5'))).toEqual(['campaign_name: missing_campaign']);
  });
});

describe('figures', () => {
  const read = reading('Day|Campaign ID|Impr.|Cost|Conversions|Currency code');

  test('figures are exact decimal texts, and marks of no value are null', () => {
    expect(valid(read('2026-03-27|1|795,836|103606.770| --|usd')).metric).toEqual({
      metricDate: '2026-03-27',
      dateTo: null,
      impressions: '795836',
      clicks: null,
      linkClicks: null,
      reach: null,
      spend: '103606.77',
      conversions: null,
      conversionValue: null,
      currency: 'USD',
    });
  });

  test('each invalid figure is a separate problem that names its column', () => {
    const line = read('2026-03-27|1|12.5|abc|1,234|Euros');
    expect(codesOf(line)).toEqual([
      'impressions: not_a_whole_number',
      'spend: invalid_number',
      'conversions: ambiguous_number',
      'currency: invalid_currency',
    ]);
    expect(line.kind === 'invalid' && line.problems[0]?.message).toMatch(
      /^Column "Impr\.": .*for example 1234\.$/,
    );
  });

  test('a count is at most the largest safe integer, and the refusal states the limit', () => {
    const most = String(Number.MAX_SAFE_INTEGER);
    const exact = ['9007199254740991', '9,007,199,254,740,991', '0009007199254740991'];
    for (const cell of exact) {
      expect(valid(read(`2026-03-27|1|${cell}|1|2|`)).metric.impressions).toBe(most);
    }
    for (const cell of ['9007199254740992', '9007199254740993', '9,007,199,254,740,993', '9'.repeat(18)]) {
      const line = read(`2026-03-27|1|${cell}|1|2|`);
      expect(codesOf(line)).toEqual(['impressions: number_out_of_range']);
      expect(line.kind === 'invalid' && line.problems[0]?.message).toContain(`from 0 to ${most}`);
    }
    expect(valid(read(`2026-03-27|1|1|${'9'.repeat(18)}|2|`)).metric.spend).toBe('9'.repeat(18));
  });

  test('a limit such as "< 10" is no value, with a warning', () => {
    const { metric, warnings } = valid(read('2026-03-27|1|< 10|1|2|'));
    expect([metric.impressions, warnings.map(({ code }) => code)]).toEqual([null, ['only_a_bound']]);
  });

  test('an unknown currency is refused in every row that has it', () => {
    const lines = ['EUR', 'Euros', 'Euros', 'EUR', ''].map((currency) =>
      read(`2026-03-27|1|1|1|1|${currency}`),
    );
    expect(lines.map((line) => (line.kind === 'valid' ? line.metric.currency : line.kind))).toEqual([
      'EUR',
      'invalid',
      'invalid',
      'EUR',
      null,
    ]);
  });

  test('the currency of a row takes precedence over that of the header', () => {
    const both = reading('Day|Campaign name|Amount spent (AUD)|Currency', { platform: 'meta' });
    const currencies = ['NZD', ''].map((cell) => valid(both(`2026-03-27|A|1|${cell}`)).metric.currency);
    expect(currencies).toEqual(['NZD', 'AUD']);
  });

  test('cost in millionths is divided exactly', () => {
    const json = reading('segments.date|campaign.id|metrics.costMicros|metrics.conversions', {
      format: 'json',
    });
    const { metric } = valid(json('2026-03-27|55|2500000001|4.0'));
    expect([metric.spend, metric.conversions]).toEqual(['2500.000001', '4']);
  });

  test('the widest of several action types for one purchase is used, and nothing is added up', () => {
    const paths = 'date_start|date_stop|campaign_id|actions.purchase|actions.omni_purchase';
    const json = reading(paths, { platform: 'meta', format: 'json' });
    const conversions = ['5|7', '5|', '|7', '|'].map(
      (cells) => valid(json(`2026-03-27|2026-03-27|1|${cells}`)).metric.conversions,
    );
    expect(conversions).toEqual(['7', '5', '7', null]);
  });
});

test('the meaning of a JSON record does not depend on the records before or after it', () => {
  const paths = [
    'date_start',
    'date_stop',
    'campaign_id',
    'clicks',
    'actions.purchase',
    'inline_link_clicks',
    'actions.omni_purchase',
  ];
  const rows = ['2026-03-27|2026-03-27|1', '2026-03-27|2026-03-27|1|3|5', '2026-03-27|2026-03-27|1||5|2|6'];
  for (const row of rows) {
    const widths = paths.map((_, at) => at + 1).filter((width) => width >= row.split('|').length);
    const lines = widths.map((width) =>
      reading(paths.slice(0, width).join('|'), { platform: 'meta', format: 'json' })(row),
    );
    for (const line of lines) expect(valid(line)).toEqual(lines[0]);
  }
});

test('cells of the maximum length are refused quickly', () => {
  const read = reading('Day|Campaign|Cost|Clicks');
  const long = ['1'.repeat(99_999), `${'1 '.repeat(40_000)}x`, ','.repeat(90_000), 'a'.repeat(100_000)];
  const before = process.cpuUsage();
  for (const cell of long) expect(codesOf(read(`${cell}|A|${cell}|${cell}`))).toHaveLength(3);
  profileOf('google').findHeader(long.map((cell) => [cell, `${cell}(`, `(${cell})`]));
  // Measured in CPU time: on a busy machine the process may have to wait.
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(5_000);
});

describe('the form of a row', () => {
  const read = reading('Day|Campaign|Clicks');

  test('more non-empty cells than columns are refused, with the cells beyond the header', () => {
    const line = read('2026-03-27|A|1|oops');
    expect(codesOf(line)).toEqual(['row: wrong_cell_count']);
    expect(line).toMatchObject({
      rowIndex: 7,
      line: 11,
      source: [
        ['Day', '2026-03-27'],
        ['Campaign', 'A'],
        ['Clicks', '1'],
        ['(column 4)', 'oops'],
      ],
    });
  });

  test('empty cells beyond the header are ignored', () => {
    expect(read('2026-03-27|A|1|| ').kind).toBe('valid');
  });

  test('a short row is padded, and refused only if a required cell is missing', () => {
    expect(valid(read('2026-03-27|A')).metric.clicks).toBeNull();
    expect(codesOf(read('2026-03-27'))).toEqual(['campaign_name: missing_campaign']);
  });

  test('a NUL is refused in every column and is never stored', () => {
    const wide = reading('Day|Campaign|Clicks|Notes');
    expect(codesOf(wide('2026-03-27|A\0|1|'))).toEqual(['Campaign: nul_character']);
    expect(codesOf(wide('2026-03-27|A|1|x\0'))).toEqual(['Notes: nul_character']);
    const line = wide('2026-03-27|A|1\0|');
    expect(codesOf(line)).toEqual(['clicks: invalid_number', 'Clicks: nul_character']);
    expect(JSON.stringify(line)).not.toContain('\\u0000');
  });

  test('a long value is shortened to 200 characters, and never inside a surrogate pair', () => {
    const line = read(`2026-03-27|A|x${'😀'.repeat(300)}`);
    const value = line.kind === 'invalid' ? line.problems[0]?.value : null;
    expect(value?.length).toBeLessThanOrEqual(200);
    expect(Buffer.from(value ?? '').toString()).toBe(value);
  });

  test('repeated headers are numbered in the source of a row', () => {
    const doubled = reading('Day|Campaign name|Results|Results', { platform: 'meta' });
    const line = doubled('x|A|1|2');
    expect(line.kind === 'invalid' && line.source).toEqual([
      ['Day', 'x'],
      ['Campaign name', 'A'],
      ['Results', '1'],
      ['Results (2)', '2'],
    ]);
  });

  test('the first of two columns with one name is used, the second fills gaps, and a contradiction warns', () => {
    const doubled = reading('Day|Campaign name|Results|Results', { platform: 'meta' });
    const lines = ['1|1', '|2', '1|2'].map((cells) => valid(doubled(`2026-03-27|A|${cells}`)));
    expect(lines.map(({ metric }) => metric.conversions)).toEqual(['1', '2', '1']);
    expect(
      lines.map(({ warnings }) => warnings.some(({ code }) => code === 'duplicate_columns_disagree')),
    ).toEqual([false, false, true]);
  });

  test('a row lists all of its problems at once', () => {
    expect(codesOf(read('soon||many'))).toEqual([
      'metric_date: invalid_date',
      'campaign_name: missing_campaign',
      'clicks: invalid_number',
    ]);
  });
});
