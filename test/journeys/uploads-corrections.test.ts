import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import type { Platform } from '../../src/ingest/uploads/reports/types.ts';
import { type UploadDesk, useUploads } from '../support/servers/upload-server.ts';
import { useDatabase } from '../support/worlds/database.ts';

// The rows that were refused, downloaded, corrected and uploaded again: they must arrive as what they are.
const database = useDatabase();
const uploads = useUploads(database);

async function upload(
  { claims, tenantId, workspaceId }: UploadDesk,
  content: string,
  platform: Platform = 'meta',
) {
  const fields = { workspace_id: workspaceId, platform, force_partial: 'true' };
  const made = await uploads.post(claims, content, fields);
  expect(made.status).toBe(201);
  await uploads.drive(tenantId);
  return uploads.get(claims, made.body.upload_id);
}

async function rejectedOf({ claims }: UploadDesk, uploadId: string): Promise<string> {
  const answer = await uploads.call(claims, `/api/uploads/${uploadId}/rejected.csv`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
  expect(answer.headers.get('content-disposition')).toMatch(/^attachment; filename="rejected-.*\.csv"$/);
  return answer.text;
}

function tableOf(csv: string): string[][] {
  return parse(csv, { bom: true, relax_column_count: true });
}

function csvOf(table: string[][]): string {
  return table.map((cells) => cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')).join('\r\n');
}

/** Puts other values under a header, row by row, as a person does in a spreadsheet. */
function corrected(csv: string, column: string, values: string[]): string {
  const [header = [], ...rows] = tableOf(csv);
  const at = header.indexOf(column);
  expect(at).not.toBe(-1);
  expect(rows).toHaveLength(values.length);
  return csvOf([header, ...rows.map((cells, n) => cells.with(at, values[n] ?? ''))]);
}

function production({ tenantId }: UploadDesk): Promise<object[]> {
  return database.owner(
    `select c.name, m.metric_date::text as day, m.impressions::int, trim_scale(m.spend)::text as spend,
            trim_scale(m.conversion_value)::text as value, m.currency
       from daily_metrics m join campaigns c using (tenant_id, campaign_id)
      where m.tenant_id = $1
      order by c.name collate "C", m.metric_date`,
    [tenantId],
  );
}

const header = 'Campaign name,Day,Impressions,Amount spent (EUR),Purchases conversion value,Quality ranking';

test('corrected rows are promoted as written, including formulas and marks', async () => {
  const desk = await uploads.desk();
  const bad = [
    '"=HYPERLINK(""http://x"")",2026-03-01,10,abc,-5.50,-',
    "'=1+1,2026-03-02,11,abc,-,-",
    '"Größe, ""XL""",2026-03-03,12,abc,7,-',
  ];
  const first = await upload(desk, `${header}\nFine,2026-03-01,1,1.25,,-\n${bad.join('\n')}\n`);
  expect(first).toMatchObject({ status: 'partial', promoted_rows: 1, failed_rows: 3 });
  const rejected = await rejectedOf(desk, first.upload_id);
  expect(tableOf(rejected)[0]).toEqual([...header.split(','), 'Read with decimal point', 'Rejection reason']);
  expect(tableOf(rejected)[1]?.at(-1)).toMatch(/^spend: Column "Amount spent \(EUR\)": This is not a number/);
  // A spreadsheet must not run what stands in a cell.
  expect(tableOf(rejected)[1]?.[0]).toBe(`'=HYPERLINK("http://x")`);
  const again = await upload(desk, corrected(rejected, 'Amount spent (EUR)', ['2.5', '3.5', '4.5']));
  expect(again).toMatchObject({ status: 'completed', total_rows: 3, promoted_rows: 3 });
  expect(await production(desk)).toEqual([
    { name: "'=1+1", day: '2026-03-02', impressions: 11, spend: '3.5', value: null, currency: 'EUR' },
    {
      name: '=HYPERLINK("http://x")',
      day: '2026-03-01',
      impressions: 10,
      spend: '2.5',
      value: '-5.5',
      currency: 'EUR',
    },
    { name: 'Fine', day: '2026-03-01', impressions: 1, spend: '1.25', value: null, currency: 'EUR' },
    { name: 'Größe, "XL"', day: '2026-03-03', impressions: 12, spend: '4.5', value: '7', currency: 'EUR' },
  ]);
});

test('uncorrected rows are refused again for the same reasons', async () => {
  const desk = await uploads.desk();
  const rows = ['A,2026-03-01,1,200,5,1,-', 'B,2026-03-01,x,1.5,,-', ',2026-03-01,1,1.5,,-'];
  const first = await upload(desk, `${header}\n${rows.join('\n')}\n`);
  expect(first).toMatchObject({ status: 'failed', error_code: 'no_valid_rows', total_rows: 3 });
  const rejected = await rejectedOf(desk, first.upload_id);
  const second = await upload(desk, rejected);
  expect(second).toMatchObject({ status: 'failed', error_code: 'no_valid_rows', total_rows: 3 });
  const codes = async ({ upload_id }: typeof first) => {
    const { body } = await uploads.call(
      desk.claims,
      `/api/uploads/${upload_id}/rows?validation_status=invalid`,
    );
    const listed = body.data as { validation_errors: { code: string }[] }[];
    return listed.map(({ validation_errors: errors }) => errors.map(({ code }) => code));
  };
  expect(await codes(first)).toEqual([['wrong_cell_count'], ['invalid_number'], ['missing_campaign']]);
  expect(await codes(second)).toEqual(await codes(first));
  // The column with the reason is not there twice after two rounds.
  const [columns] = tableOf(await rejectedOf(desk, second.upload_id));
  expect(columns).toEqual([...header.split(','), 'Read with decimal point', 'Rejection reason']);
  expect(await production(desk)).toEqual([]);
});

describe('rows whose format only the whole file shows are read in that format', () => {
  const headers = {
    English: 'Campaign name;Day;Amount spent (EUR);Impressions',
    German: 'Kampagnenname;Tag;Ausgegebener Betrag (EUR);Impressionen',
  };
  const files = {
    'a decimal comma': { good: '1.001,5', odd: '4.321', spend: '4321', said: 'decimal comma' },
    'a decimal point': { good: '1,001.5', odd: '4.321', spend: '4.321', said: 'decimal point' },
  };
  const cases = Object.entries(headers).flatMap(([language, titles]) =>
    Object.entries(files).map(([mark, file]) => ({ language, mark, titles, ...file })),
  );

  test.each(cases)('$mark under $language headers', async ({ titles, good, odd, spend, said }) => {
    const desk = await uploads.desk();
    const [, day = '', amount = ''] = titles.split(';');
    const rows = Array.from({ length: 29 }, (_, n) => `Good ${n};2026-03-${10 + (n % 20)};${good};1`);
    const first = await upload(desk, [titles, ...rows, `Odd;oops;${odd};1`].join('\n'));
    expect(first).toMatchObject({ status: 'partial', promoted_rows: 29, failed_rows: 1 });
    const rejected = await rejectedOf(desk, first.upload_id);
    const [columns = []] = tableOf(rejected);
    expect(columns.slice(4)).toEqual([expect.stringMatching(`^Read with ${said}`), 'Rejection reason']);
    const again = await upload(desk, corrected(rejected, day, ['2026-04-01']));
    expect(again).toMatchObject({
      status: 'completed',
      promoted_rows: 1,
      layout: {
        sources: { spend: amount },
        unmapped: columns.slice(4).map((added) => ({ header: added, suggestion: null })),
      },
    });
    expect(await production(desk)).toContainEqual(expect.objectContaining({ name: 'Odd', spend }));
  });

  test.each([
    ['day/month/year', '13/03/2026', '2026-04-03'],
    ['month/day/year', '03/13/2026', '2026-03-04'],
  ])('dates as %s, also in a second correction', async (order, proof, day) => {
    const desk = await uploads.desk();
    const row = (name: string, date: string, spend: string) => `${name},${date},1,${spend},,-`;
    const lines = [row('A', proof, '1.5'), row('B', '03/04/2026', 'x'), row('C', '03/04/2026', 'y')];
    const first = await upload(desk, [header, ...lines].join('\n'));
    const rejected = await rejectedOf(desk, first.upload_id);
    expect(tableOf(rejected)[0]?.at(-2)).toBe(`Read with decimal point, dates as ${order}`);
    const half = await upload(desk, corrected(rejected, 'Amount spent (EUR)', ['2.5', 'still wrong']));
    expect(half).toMatchObject({ status: 'partial', promoted_rows: 1, failed_rows: 1 });
    const rest = await rejectedOf(desk, half.upload_id);
    const whole = await upload(desk, corrected(rest, 'Amount spent (EUR)', ['3.5']));
    expect(whole).toMatchObject({ status: 'completed', promoted_rows: 1 });
    expect(await production(desk)).toMatchObject([
      { name: 'A', day: '2026-03-13' },
      { name: 'B', day, spend: '2.5' },
      { name: 'C', day, spend: '3.5' },
    ]);
  });
});

test('a row with a cell too many shows all of its cells', async () => {
  const desk = await uploads.desk();
  const first = await upload(desk, `${header}\nA,2026-03-01,1,200,5,1,last\n`);
  const [, row] = tableOf(await rejectedOf(desk, first.upload_id));
  expect(row?.slice(0, 6)).toEqual(['A', '2026-03-01', '1', '200', '5', '1']);
  expect(row?.at(-1)).toBe('last');
});

const googleRecord = (id: number, date: string, micros: string, clicks = 1) => ({
  customer: { currencyCode: 'EUR' },
  campaign: { id: `90071992547409${id}`, name: `Campaign ${id}` },
  segments: { date },
  metrics: { costMicros: micros, impressions: '5', clicks },
});

test('records of an API are returned as a table and can be uploaded as one', async () => {
  const desk = await uploads.desk();
  const results = [googleRecord(10, '2026-03-01', '2500000'), googleRecord(11, '31.2.2026', '3750000')];
  const first = await upload(desk, JSON.stringify([{ results, requestId: 'x' }]), 'google');
  expect(first).toMatchObject({ status: 'partial', promoted_rows: 1, failed_rows: 1 });
  const rejected = await rejectedOf(desk, first.upload_id);
  const again = await upload(desk, corrected(rejected, 'segments.date', ['2026-03-02']), 'google');
  expect(again).toMatchObject({ status: 'completed', promoted_rows: 1 });
  expect(await production(desk)).toMatchObject([
    { name: 'Campaign 10', day: '2026-03-01', spend: '2.5' },
    { name: 'Campaign 11', day: '2026-03-02', spend: '3.75', currency: 'EUR' },
  ]);
});

test('a corrected record keeps a metric that only it has under a less preferred name', async () => {
  const desk = await uploads.desk();
  const record = (name: string, day: string, type: string) => ({
    campaign_name: name,
    date_start: day,
    date_stop: day,
    impressions: '5',
    action_values: [{ action_type: type, value: '7.25' }],
  });
  const records = [
    record('A', '2026-03-01', 'omni_purchase'),
    record('B', 'x', 'omni_purchase'),
    record('C', 'x', 'purchase'),
  ];
  const first = await upload(desk, JSON.stringify({ data: records }));
  const rejected = await rejectedOf(desk, first.upload_id);
  const starts = corrected(rejected, 'date_start', ['2026-03-02', '2026-03-03']);
  const again = await upload(desk, corrected(starts, 'date_stop', ['2026-03-02', '2026-03-03']));
  expect(again).toMatchObject({ status: 'completed', promoted_rows: 2 });
  expect(await production(desk)).toMatchObject([
    { name: 'A', value: '7.25' },
    { name: 'B', day: '2026-03-02', value: '7.25' },
    { name: 'C', day: '2026-03-03', value: '7.25' },
  ]);
});

describe('rows that only the database refused', () => {
  /** Refuses facts with 666 impressions while the work is done. */
  async function refusing<T>(work: () => Promise<T>): Promise<T> {
    const name = 'refused_by_the_test';
    await database.owner(
      `alter table daily_metrics add constraint ${name} check (impressions <> 666) not valid`,
    );
    try {
      return await work();
    } finally {
      await database.owner(`alter table daily_metrics drop constraint ${name}`);
    }
  }

  const meta = (name: string, impressions: number) => ({
    campaign_name: name,
    date_start: '2026-03-01',
    date_stop: '2026-03-01',
    account_currency: 'EUR',
    impressions: String(impressions),
    spend: '1.50',
  });
  const google = (id: number, impressions: string) => {
    const record = googleRecord(id, '2026-03-01', '1500000');
    return { ...record, metrics: { ...record.metrics, impressions } };
  };
  const shapes: Record<string, { platform: Platform; content: string }> = {
    'a table without ids': {
      platform: 'meta',
      content: `${header}\nCampaign 10,2026-03-01,5,1.50,,-\nCampaign 11,2026-03-01,666,1.50,,-\n`,
    },
    'records of Meta, which have a period and no ids': {
      platform: 'meta',
      content: JSON.stringify({ data: [meta('Campaign 10', 5), meta('Campaign 11', 666)] }),
    },
    'records of Google, which count in millionths': {
      platform: 'google',
      content: JSON.stringify([{ results: [google(10, '5'), google(11, '666')] }]),
    },
  };

  test.each(Object.entries(shapes))('are returned from %s unchanged', async (_, { platform, content }) => {
    const desk = await uploads.desk();
    const first = await refusing(() => upload(desk, content, platform));
    expect(first).toMatchObject({ status: 'partial', promoted_rows: 1, failed_rows: 1 });
    const again = await upload(desk, await rejectedOf(desk, first.upload_id), platform);
    expect(again).toMatchObject({ status: 'completed', promoted_rows: 1 });
    const common = { day: '2026-03-01', spend: '1.5', value: null, currency: 'EUR' };
    expect(await production(desk)).toEqual([
      { name: 'Campaign 10', impressions: 5, ...common },
      { name: 'Campaign 11', impressions: 666, ...common },
    ]);
  });

  test('are written with the decimal mark of their file', async () => {
    const desk = await uploads.desk();
    const titles = 'Campaign name;Day;Impressions;Amount spent (EUR)';
    const rows = ['Campaign 10;2026-03-01;5;12,5', 'Campaign 11;2026-03-01;666;1,505'];
    const first = await refusing(() => upload(desk, [titles, ...rows].join('\n')));
    await upload(desk, await rejectedOf(desk, first.upload_id));
    expect(await production(desk)).toMatchObject([
      { impressions: 5, spend: '12.5' },
      { impressions: 666, spend: '1.505' },
    ]);
  });
});
