import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { cell, row, textRow, workbookOf } from '../generators/workbook.ts';
import { type StoredEntry, zipOf } from '../generators/zip-archive.ts';
import { uploadForm, useUploads } from '../support/servers/upload-server.ts';
import { useDatabase } from '../support/worlds/database.ts';

// Reports as people have them: workbooks, gzip files and archives of several.
const database = useDatabase();
const uploads = useUploads(database, { maxArchiveReports: 5, maxUnfoldedReportBytes: 6 * 1024 * 1024 });

const header = 'Campaign name,Campaign ID,Day,Impressions,Clicks (all),Amount spent (EUR)';
const csv = (campaign: number, spend = '12.50', day = '2026-03-01') =>
  `${header}\nCampaign ${campaign},12020000000000${campaign},${day},1000,10,${spend}\n`;

async function send(content: Buffer | string, name: string, fields: Record<string, string> = {}) {
  const desk = await uploads.desk();
  return sendAt(desk, content, { name, fields });
}

async function sendAt(
  desk: Awaited<ReturnType<typeof uploads.desk>>,
  content: Buffer | string,
  { name, fields = {} }: { name: string; fields?: Record<string, string> },
) {
  const form = uploadForm(content, { workspace_id: desk.workspaceId, ...fields }, name);
  const made = await uploads.call(desk.claims, '/api/uploads', 'POST', form);
  await uploads.drive(desk.tenantId);
  const sent = (made.body.uploads ?? []) as { upload_id: string; filename: string | null }[];
  const records = await Promise.all(sent.map((one) => uploads.get(desk.claims, one.upload_id)));
  return { ...desk, made, sent, records };
}

const stored = (tenantId: string) =>
  database.owner<{ campaign: string; day: string; impressions: string; spend: string; currency: string }>(
    `select c.external_id as campaign, metric_date::text as day, impressions::text, trim_scale(spend)::text as spend,
            currency
       from daily_metrics join campaigns c using (tenant_id, campaign_id)
      where tenant_id = $1
      order by 1, 2`,
    [tenantId],
  );

const headings = header.split(',');
/** A line of a sheet with real numbers and a day in a date format. */
const sheetLine = (campaign: number, spend: string, day = '46082') =>
  row(
    `<c t="inlineStr"><is><t>Campaign ${campaign}</t></is></c>`,
    `<c t="inlineStr"><is><t>12020000000000${campaign}</t></is></c>`,
    cell(day, 's="1"'),
    cell('1000'),
    cell('10'),
    cell(spend),
  );
const sheet = (...lines: string[]) => textRow(...headings) + lines.join('');
const book = (...sheets: { name?: string; rows: string; state?: 'hidden' }[]) =>
  workbookOf({ sheets, formats: ['yyyy-mm-dd'] });

describe('a workbook', () => {
  test('is stored like its CSV: days are days, and real numbers have no locale', async () => {
    const german = 'Kampagnenname,Kampagnen-ID,Tag,Impressionen,Klicks (alle),Ausgegebener Betrag (EUR)';
    const rows = textRow(...german.split(',')) + sheetLine(1, '1.234') + sheetLine(2, '12.5');
    const { tenantId, records } = await send(book({ name: 'Raw Data Report', rows }), 'report.xlsx');
    expect(records[0]).toMatchObject({ status: 'completed', filename: 'report.xlsx', warnings: [] });
    expect(records[0]?.unpacked).toMatchObject({
      from: ['xlsx'],
      sheet: 'Raw Data Report',
      other_sheets: [],
    });
    expect(await stored(tenantId)).toEqual([
      {
        campaign: '120200000000001',
        day: '2026-03-01',
        impressions: '1000',
        spend: '1.234',
        currency: 'EUR',
      },
      { campaign: '120200000000002', day: '2026-03-01', impressions: '1000', spend: '12.5', currency: 'EUR' },
    ]);
  });

  test('may begin with a title and a range, and count its days without a date format', async () => {
    const rows =
      textRow('Campaign report') +
      textRow('March 1, 2026 - March 2, 2026') +
      textRow('Campaign', 'Campaign ID', 'Day', 'Currency code', 'Impr.', 'Clicks', 'Cost') +
      row(
        ...['Spring', '21'].map((text) => `<c t="inlineStr"><is><t>${text}</t></is></c>`),
        cell('46083'),
        '<c t="inlineStr"><is><t>EUR</t></is></c>',
        cell('1000'),
        cell('10'),
        cell('0.30000000000000004'),
      );
    const made = await send(workbookOf({ sheets: [{ rows }] }), 'report.xlsx', { platform: 'google' });
    expect(made.records[0]).toMatchObject({ status: 'completed' });
    expect(await stored(made.tenantId)).toEqual([
      { campaign: '21', day: '2026-03-02', impressions: '1000', spend: '0.3', currency: 'EUR' },
    ]);
  });

  test('is read from the sheet that holds the report, and says which others were not read', async () => {
    const made = await send(
      book(
        { name: 'Cover', rows: textRow('Made for Acme') },
        { name: 'Formatted', rows: sheet(sheetLine(1, '99')) },
        { name: 'Raw Data Report', rows: sheet(sheetLine(1, '7.5')) },
        { name: 'Secret', rows: sheet(sheetLine(1, '55')), state: 'hidden' },
      ),
      'report.xlsx',
    );
    expect(await stored(made.tenantId)).toMatchObject([{ spend: '7.5' }]);
    expect(made.records[0]?.unpacked).toMatchObject({
      sheet: 'Raw Data Report',
      other_sheets: ['Cover', 'Formatted'],
    });
    expect(made.records[0]?.warnings).toMatchObject([
      { code: 'other_sheets', message: expect.stringMatching(/"Raw Data Report" was read, "Cover"/) },
    ]);
  });

  test('refuses a row whose id a spreadsheet has rounded', async () => {
    const id = (value: string) =>
      sheet(
        row(
          '<c t="inlineStr"><is><t>Spring</t></is></c>',
          cell(value),
          cell('46082', 's="1"'),
          cell('5'),
          cell('1'),
          cell('2'),
        ),
      );
    const { records, claims } = await send(book({ rows: id('1.20210123456789E+17') }), 'report.xlsx');
    const rows = await uploads.call(claims, `/api/uploads/${records[0]?.upload_id}/rows`);
    expect(rows.body.data).toMatchObject([{ validation_errors: [{ code: 'id_damaged_by_spreadsheet' }] }]);
    const whole = await send(book({ rows: id('120210123456789012') }), 'report.xlsx');
    expect(await stored(whole.tenantId)).toMatchObject([{ campaign: '120210123456789012' }]);
  });

  test('counts its lines as the spreadsheet does', async () => {
    const rows = `${sheet()}<row r="9"><c r="A9" t="inlineStr"><is><t>Spring</t></is></c></row>`;
    const { records, claims } = await send(book({ rows }), 'report.xlsx');
    const refused = await uploads.call(claims, `/api/uploads/${records[0]?.upload_id}/rows`);
    expect(refused.body.data).toMatchObject([{ line: 9 }]);
  });
});

describe('a gzip file', () => {
  test('is stored like the report in it, under its name', async () => {
    const { tenantId, records } = await send(gzipSync(csv(1)), 'report.csv.gz');
    expect(records[0]).toMatchObject({ status: 'completed', filename: 'report.csv' });
    expect(records[0]?.unpacked).toMatchObject({ from: ['gzip'], archive: 'report.csv.gz' });
    expect(await stored(tenantId)).toMatchObject([{ spend: '12.5' }]);
  });

  test('may hold a workbook', async () => {
    const { tenantId, records } = await send(gzipSync(book({ rows: sheet(sheetLine(1, '3')) })), 'a.xlsx.gz');
    expect(records[0]?.unpacked).toMatchObject({ from: ['gzip', 'xlsx'] });
    expect(await stored(tenantId)).toMatchObject([{ spend: '3' }]);
  });
});

describe('a ZIP archive', () => {
  const archive = () =>
    zipOf([
      { name: 'reports/', content: '' },
      { name: 'reports/a.csv', content: csv(1) },
      { name: '__MACOSX/reports/._a.csv', content: Buffer.from([0, 5, 22, 7]) },
      { name: 'reports/.DS_Store', content: Buffer.from([0, 0, 0, 1]) },
      { name: 'Thumbs.db', content: Buffer.from([0xd0, 0xcf]) },
      { name: 'reports/b.xlsx', content: book({ rows: sheet(sheetLine(2, '2.25')) }) },
      { name: 'c.csv', content: csv(1, '20.00') },
    ]);

  test('becomes an upload for each report, in order, and without the junk of systems', async () => {
    const { tenantId, made, sent, records } = await send(archive(), 'reports.zip');
    expect(made.status).toBe(201);
    expect(sent.map(({ filename }) => filename)).toEqual(['a.csv', 'b.xlsx', 'c.csv']);
    expect(made.body.upload_id).toBe(sent[0]?.upload_id);
    expect(records.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
    expect(records[1]?.unpacked).toMatchObject({
      from: ['zip', 'xlsx'],
      archive: 'reports.zip',
      path: 'reports/b.xlsx',
    });
    // The third states the first one's day again, and comes later.
    expect(await stored(tenantId)).toMatchObject([{ spend: '20' }, { spend: '2.25' }]);
    const names = await database.owner('select name from files where tenant_id = $1 order by 1', [tenantId]);
    expect(names).toHaveLength(3);
  });

  test('changes nothing when it is sent again, or after a report of it came alone', async () => {
    const desk = await uploads.desk();
    await sendAt(desk, csv(1, '20.00'), { name: 'c.csv' });
    await sendAt(desk, archive(), { name: 'reports.zip' });
    const once = await stored(desk.tenantId);
    await sendAt(desk, archive(), { name: 'reports.zip' });
    expect(await stored(desk.tenantId)).toEqual(once);
    expect(once).toMatchObject([{ spend: '20' }, { spend: '2.25' }]);
  });

  test('gets the same response for one Idempotency-Key, and is taken in once', async () => {
    const desk = await uploads.desk();
    const post = () =>
      uploads.call(
        desk.claims,
        '/api/uploads',
        'POST',
        uploadForm(archive(), { workspace_id: desk.workspaceId }, 'reports.zip'),
        { 'idempotency-key': 'the-same-archive' },
      );
    const [first, second] = [await post(), await post()];
    expect(second.body).toEqual(first.body);
    const [{ n } = { n: 0 }] = await database.owner<{ n: number }>(
      'select count(*)::int as n from data_uploads where tenant_id = $1',
      [desk.tenantId],
    );
    expect(n).toBe(3);
  });
});

const entry = (name: string, content: string | Buffer = csv(1), more: Partial<StoredEntry> = {}) => ({
  name,
  content,
  ...more,
});
const zeros = Buffer.alloc(8 * 1024 * 1024, 32);

const refusals: Record<string, { content: () => Buffer; status: number; code: string; says: RegExp }> = {
  'an archive without files': {
    content: () => zipOf([]),
    status: 422,
    code: 'archive_empty',
    says: /no files/,
  },
  'an archive of junk': {
    content: () => zipOf([entry('__MACOSX/._a.csv'), entry('.DS_Store'), entry('folder/', '')]),
    status: 422,
    code: 'archive_empty',
    says: /hidden files/,
  },
  'an archive with a password': {
    content: () => zipOf([entry('a.csv', csv(1), { flags: 1 })]),
    status: 422,
    code: 'archive_encrypted',
    says: /password/,
  },
  'a name that leads out of the archive': {
    content: () => zipOf([entry('../../etc/a.csv')]),
    status: 422,
    code: 'archive_unsafe_path',
    says: /leads out/,
  },
  'an absolute name': {
    content: () => zipOf([entry('/etc/a.csv')]),
    status: 422,
    code: 'archive_unsafe_path',
    says: /leads out/,
  },
  'an archive in an archive': {
    content: () => zipOf([entry('a.csv'), entry('inner.zip', zipOf([entry('b.csv')]))]),
    status: 422,
    code: 'archive_nested',
    says: /"inner.zip".*ZIP/,
  },
  'a gzip file in an archive': {
    content: () => zipOf([entry('a.csv.gz', gzipSync(csv(1)))]),
    status: 422,
    code: 'archive_nested',
    says: /gzip/,
  },
  'a gzip file in a gzip file': {
    content: () => gzipSync(gzipSync(csv(1))),
    status: 422,
    code: 'archive_nested',
    says: /gzip/,
  },
  'a gzip file of zeros': {
    content: () => gzipSync(zeros),
    status: 422,
    code: 'archive_unfolds_too_far',
    says: /more than/,
  },
  'an archive that expands too far': {
    content: () => zipOf([entry('a.csv', zeros)]),
    status: 422,
    code: 'archive_unfolds_too_far',
    says: /"a.csv"/,
  },
  'an archive whose reports are too large together': {
    content: () =>
      zipOf([1, 2].map((n) => entry(`${n}.csv`, zeros.subarray(0, 4_000_000), { isStored: true }))),
    status: 422,
    code: 'archive_unfolds_too_far',
    says: /"2.csv"/,
  },
  'too many reports': {
    content: () => zipOf([1, 2, 3, 4, 5, 6].map((n) => entry(`${n}.csv`))),
    status: 413,
    code: 'archive_too_many_reports',
    says: /6 reports; at most 5/,
  },
  'a report with an image beside it': {
    content: () => zipOf([entry('a.csv'), entry('logo.png', Buffer.from('89504e470d0a1a0a0000', 'hex'))]),
    status: 415,
    code: 'upload_not_text',
    says: /"logo.png".*PNG/,
  },
  'an empty report beside another': {
    content: () => zipOf([entry('a.csv'), entry('b.csv', '')]),
    status: 422,
    code: 'upload_empty',
    says: /"b.csv"/,
  },
  'a truncated archive': {
    content: () => zipOf([entry('a.csv')]).subarray(0, 80),
    status: 422,
    code: 'archive_broken',
    says: /damaged/,
  },
  'a truncated gzip file': {
    content: () => gzipSync(csv(1)).subarray(0, 60),
    status: 422,
    code: 'archive_broken',
    says: /damaged/,
  },
  'a report with a wrong checksum': {
    content: () => zipOf([entry('a.csv'), entry('b.csv', csv(2), { crc: 7 })]),
    status: 422,
    code: 'archive_broken',
    says: /"b.csv".*checksum/,
  },
  'a Word document': {
    content: () => zipOf([entry('[Content_Types].xml', '<Types/>'), entry('word/document.xml', '<a/>')]),
    status: 415,
    code: 'upload_not_text',
    says: /Word/,
  },
  'a workbook with a formula that was never calculated': {
    content: () => book({ rows: sheet(row('<c><f>1+1</f></c>')) }),
    status: 422,
    code: 'formula_not_calculated',
    says: /formula/,
  },
};

test.each(Object.entries(refusals))(
  '%s is refused with its reason, and nothing is kept',
  async (_, refusal) => {
    const { made, sent, tenantId } = await send(refusal.content(), 'file.bin');
    expect(made.body).toMatchObject({ code: refusal.code, errors: [{ pointer: '/file' }] });
    expect(made.body.detail).toMatch(refusal.says);
    expect(made.status).toBe(refusal.status);
    expect(sent).toEqual([]);
    const rows = await database.owner('select 1 from files where tenant_id = $1', [tenantId]);
    expect(rows).toEqual([]);
  },
);

test('refused files leave no bytes in the storage', async () => {
  const before = uploads.storedFiles().length;
  for (const { content } of Object.values(refusals)) await send(content(), 'file.bin');
  expect(uploads.storedFiles()).toHaveLength(before);
});
