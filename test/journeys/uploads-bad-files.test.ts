import { describe, expect, test } from 'vitest';
import type { Platform } from '../../src/ingest/uploads/reports/types.ts';
import { metaEmpty, metaNotDaily } from '../generators/ad-reports/meta-reports.ts';
import { useUploads } from '../support/servers/upload-server.ts';
import { useDatabase } from '../support/worlds/database.ts';

// Files that are not reports, and rows that are not figures: what people see, and what is not written.
const database = useDatabase();
const uploads = useUploads(database);

async function upload(
  content: Buffer | string,
  fields: { platform?: Platform; [field: string]: string | undefined },
) {
  const { tenantId, workspaceId } = await uploads.tenant();
  const claims = { tenantId, role: 'admin' as const };
  const made = await uploads.post(claims, content, { workspace_id: workspaceId, ...fields });
  expect(made.status).toBe(201);
  await uploads.drive(tenantId);
  const record = await uploads.get(claims, made.body.upload_id);
  return { claims, workspaceId, uploadId: made.body.upload_id, record };
}

async function leftOf(tenantId: string): Promise<object | undefined> {
  const [left] = await database.owner<object>(
    `select (select count(*) from campaigns where tenant_id = $1)::int as campaigns,
            (select count(*) from daily_metrics where tenant_id = $1)::int as metrics,
            (select count(*) from upload_slots where tenant_id = $1 and upload_id is not null)::int as slots,
            (select count(*) from events where tenant_id = $1 and type = 'ingestion.complete')::int as events`,
    [tenantId],
  );
  return left;
}

const nothing = { campaigns: 0, metrics: 0, slots: 0, events: 0 };

const header = 'Campaign name,Campaign ID,Day,Impressions,Link clicks,Amount spent (USD)';
const line = (n: number, more: { day?: string; id?: string; spend?: string; impressions?: string } = {}) => {
  const { day = '2026-03-01', id = `12021000000000${n}`, spend = '1.50', impressions = '10' } = more;
  return ['Spring', id, day, impressions, '1', spend].join(',');
};
const lines = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => line(from + n));
const report = (...rows: string[]) => `${header}\n${rows.join('\n')}\n`;

const record = '{"campaign_id":"1","date_start":"2026-03-01","date_stop":"2026-03-01","spend":"1.5"}';
const badFiles: Record<
  string,
  { platform?: Platform; content: Buffer | string; code: string; says: RegExp }
> = {
  'a header without rows': { content: `${header}\n`, code: 'report_empty', says: /no rows/ },
  'a header and a total': { content: `${header}\n,,,10,1,1.50\n`, code: 'report_empty', says: /no rows/ },
  'an empty list': { content: '[]', code: 'report_empty', says: /no rows/ },
  'an answer of Meta without records': { content: '{"data":[]}', code: 'report_empty', says: /no rows/ },
  'an answer of Google without results': {
    platform: 'google',
    content: '[{"results":[],"fieldMask":"campaign.id","requestId":"x"}]',
    code: 'report_empty',
    says: /no rows/,
  },
  'an answer of TikTok without records': {
    platform: 'tiktok',
    content: '{"code":0,"message":"OK","data":{"list":[],"page_info":{}}}',
    code: 'report_empty',
    says: /no rows/,
  },
  'blank lines': { content: '\n\n  \n', code: 'report_empty', says: /blank/ },
  'Meta’s empty export': { content: metaEmpty().bytes, code: 'no_data_available', says: /No data available/ },
  'a sheet for bulk changes': {
    platform: 'google',
    content: 'Row Type,Action,Campaign,Budget\nCampaign,Edit,Spring,100\n',
    code: 'bulk_sheet_not_a_report',
    says: /download a report/,
  },
  'a letter': {
    content: 'Dear all,\nplease find the report attached.\nBest, Ann\n',
    code: 'required_columns_missing',
    says: /no column for the day .* and the campaign .* and any figure/,
  },
  'columns with other names': {
    content: 'Campain nmae,Dayy,Impresions,Note\nSpring,2026-03-01,5,x\n',
    code: 'required_columns_missing',
    says: /columns seen: "Campain nmae", .*nearest match: .*"Campain nmae" for the campaign/,
  },
  'records of something else': {
    content: '[{"name":"Ann","age":3}]',
    code: 'required_columns_missing',
    says: /columns seen: "name", "age"/,
  },
  'JSON that is cut off': {
    content: `[${record},${record.slice(0, 20)}`,
    code: 'report_json_truncated',
    says: /ends/,
  },
  'JSON that is broken': { content: `[${record} ${record}]`, code: 'report_json_malformed', says: /JSON/ },
  'a list of numbers': { content: '[[1,2],[3]]', code: 'report_record_not_an_object', says: /object/ },
  'a refusal of TikTok': {
    platform: 'tiktok',
    content: '{"code":40105,"message":"Access token is incorrect","data":{}}',
    code: 'report_platform_error',
    says: /"Access token is incorrect" \(code 40105\)/,
  },
  'a refusal of Meta': {
    content: '{"error":{"message":"Session has expired","code":190}}',
    code: 'report_platform_error',
    says: /Session has expired/,
  },
  'a quote that nobody closes': {
    content: `${report(line(1))}"Spring,1\n${lines(2, 9).join('\n')}\n`,
    code: 'report_quote_unclosed',
    says: /quote/,
  },
};

describe('a file that is not a report fails as a whole', () => {
  test.each(Object.entries(badFiles))('%s', async (_, { content, platform = 'meta', code, says }) => {
    const { claims, record, uploadId } = await upload(content, { platform });
    expect(record).toMatchObject({
      status: 'failed',
      error_code: code,
      error_text: expect.stringMatching(says),
    });
    expect(record).toMatchObject({ promoted_rows: 0, row_count: null, event_emitted: false });
    expect(record.error_text).toMatch(/^[A-Z][^\n]+\.$/);
    expect(await leftOf(claims.tenantId)).toEqual(nothing);
    const events = await uploads.events(claims.tenantId);
    const failed = events.filter(({ type }) => type === 'upload.failed');
    expect(failed).toMatchObject([{ subject: uploadId, data: { error_code: code } }]);
  });
});

test('a report with four weeks per line is stored as what it is, and not mixed into days', async () => {
  const { record } = await upload(metaNotDaily({ seed: 1, rows: 1 }).bytes, {});
  expect(record).toMatchObject({
    status: 'completed',
    daily_metrics_upserted: 0,
    period_metrics_upserted: 1,
    affected_dates: [],
  });
});

test('a bad row is shown with its field, code, message and value, and does not stop the file', async () => {
  const bad = [
    line(20, { id: '1.2E+17' }),
    line(21, { day: '2026-02-30', spend: 'n/v' }),
    line(22, { impressions: '1.5' }),
    `${line(23)},7`,
  ];
  const { claims, uploadId, record } = await upload(report(...lines(0, 36), ...bad), {});
  expect(record).toMatchObject({
    status: 'partial',
    valid_rows: 36,
    invalid_rows: 4,
    promoted_rows: 36,
    failed_rows: 4,
  });
  const answer = await uploads.call(claims, `/api/uploads/${uploadId}/rows?validation_status=invalid`);
  expect(answer.body.data).toMatchObject([
    {
      row_index: 36,
      entity_type: 'daily_metric',
      validation_status: 'invalid',
      raw_data: { 'Campaign ID': '1.2E+17', 'Link clicks': '1' },
      validation_errors: [
        {
          field: 'campaign_id',
          code: 'id_damaged_by_spreadsheet',
          message: expect.stringMatching(/Column "Campaign ID": .*spreadsheet/),
          value: '1.2E+17',
        },
      ],
    },
    {
      row_index: 37,
      validation_errors: [
        { field: 'metric_date', code: 'invalid_date', value: '2026-02-30' },
        { field: 'spend', code: 'invalid_number', value: 'n/v' },
      ],
    },
    {
      row_index: 38,
      validation_errors: [{ field: 'impressions', code: 'not_a_whole_number', value: '1.5' }],
    },
    { row_index: 39, validation_errors: [{ field: 'row', code: 'wrong_cell_count', value: '7' }] },
  ]);
});

describe('one broken row among 99 good rows is refused alone', () => {
  const records = Array.from({ length: 99 }, (_, n) => record.replace('"1"', `"${n + 1}"`));
  const among = (bad: string) => [...records.slice(0, 50), bad, ...records.slice(50)];
  const cells = (bad: string) => [...lines(0, 50), bad, ...lines(50, 99)];
  test.each([
    ['a line that is cut off', among(record.slice(0, 40)).join('\n'), 'row', 'json_malformed'],
    ['a line that is no JSON', among('not json at all').join('\n'), 'row', 'record_not_an_object'],
    ['a null in an array', `[${among('null').join(',')}]`, 'row', 'record_not_an_object'],
    [
      'a cell of 150,000 characters',
      report(...cells(line(60, { spend: 'x'.repeat(150_000) }))),
      'Amount spent (USD)',
      'cell_too_large',
    ],
  ])('%s', async (_, content, field, code) => {
    const { claims, uploadId, record: made } = await upload(content, {});
    expect(made).toMatchObject({ status: 'partial', valid_rows: 99, invalid_rows: 1, promoted_rows: 99 });
    const answer = await uploads.call(claims, `/api/uploads/${uploadId}/rows?validation_status=invalid`);
    expect(answer.body.data).toMatchObject([{ row_index: 50, validation_errors: [{ field, code }] }]);
    const rejected = await uploads.call(claims, `/api/uploads/${uploadId}/rejected.csv`);
    expect(rejected.text.trimEnd().split(/\r?\n/)).toHaveLength(2);
  });
});

describe('the threshold', () => {
  const bad = (n: number) => line(n, { spend: 'abc' });

  test('accepts a file with 90 % valid rows as partial', async () => {
    const { record, claims } = await upload(report(...lines(0, 9), bad(9)), {});
    expect(record).toMatchObject({
      status: 'partial',
      total_rows: 10,
      valid_rows: 9,
      invalid_rows: 1,
      promoted_rows: 9,
      failed_rows: 1,
      row_count: 9,
    });
    expect(await leftOf(claims.tenantId)).toEqual({ campaigns: 9, metrics: 9, slots: 0, events: 1 });
  });

  const tooMany = report(
    ...lines(0, 89),
    ...[0, 1, 2, 3, 4].map(bad),
    ...[0, 1, 2].map((n) => line(n, { id: 'x' })),
    ...[0, 1].map((n) => line(n, { day: 'today' })),
    line(0, { impressions: '-4' }),
  );

  test('holds a file below 90 % back, with the numbers and the three most frequent reasons', async () => {
    const { record, claims } = await upload(tooMany, {});
    expect(record).toMatchObject({
      status: 'failed',
      error_code: 'too_many_invalid_rows',
      total_rows: 100,
      valid_rows: 89,
      invalid_rows: 11,
      promoted_rows: 0,
    });
    expect(record.error_text).toMatch(/89 of 100 rows \(89 %\).* 90 % .*11 were refused/);
    expect(record.error_text).toContain(
      'Mostly: the number cannot be read (spend, 5 rows); the id contains characters other than digits ' +
        '(campaign id, 3 rows); ' +
        'the date cannot be read (day, 2 rows).',
    );
    expect(await leftOf(claims.tenantId)).toEqual(nothing);
  });

  test('does not apply when the sender forces the upload', async () => {
    const { record, claims } = await upload(tooMany, { force_partial: 'true' });
    expect(record).toMatchObject({ status: 'partial', promoted_rows: 89, failed_rows: 11, row_count: 89 });
    expect(await leftOf(claims.tenantId)).toMatchObject({ metrics: 89, events: 1 });
  });

  test('holds back a file without a valid row even when the sender forces the upload', async () => {
    const { record, claims } = await upload(report(bad(1), bad(2)), { force_partial: 'true' });
    expect(record).toMatchObject({ status: 'failed', error_code: 'no_valid_rows', promoted_rows: 0 });
    expect(await leftOf(claims.tenantId)).toEqual(nothing);
  });
});
