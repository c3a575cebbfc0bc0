import { describe, expect, test } from 'vitest';
import { type UploadDesk, useUploads } from '../support/servers/upload-server.ts';
import { useDatabase } from '../support/worlds/database.ts';

// What a person sees and changes between upload and promotion, and before an undo.
const database = useDatabase();
const uploads = useUploads(database);

async function upload(
  desk: UploadDesk,
  content: string,
  fields: Record<string, string> = { review: 'true' },
) {
  const made = await uploads.post(desk.claims, content, { workspace_id: desk.workspaceId, ...fields });
  expect(made.status).toBe(201);
  await uploads.drive(desk.tenantId);
  return uploads.get(desk.claims, made.body.upload_id);
}

const ask = ({ claims }: UploadDesk, uploadId: string, what: string, method = 'GET', body?: object) =>
  uploads.call(claims, `/api/uploads/${uploadId}/${what}`, method, body);

const header = 'Campaign name,Campaign ID,Day,Clicks,Amount spent (USD)';
const csv = (...lines: string[]) => [header, ...lines, ''].join('\n');
const good = (n: number) => `Spring,11,2026-03-${String(n).padStart(2, '0')},7,1.50`;

describe('the problems of an upload', () => {
  test('are grouped by reason, the most frequent first, each with its fix and example rows', async () => {
    const desk = await uploads.desk();
    const { upload_id: id } = await upload(
      desk,
      csv(
        good(1),
        'Spring,11,someday,7,1.50',
        'Spring,1.2E+17,2026-03-02,7,1.50',
        'Spring,11,32.13.2026,7,abc',
        'Spring,11,never,7,1.50',
        'Spring,11,nowhere,7,1.50',
      ),
    );
    const { status, body } = await ask(desk, id, 'problems');
    expect(status).toBe(200);
    expect(body).toMatchObject({ refused_rows: 5, has_more: false });
    const groups = body.data as { code: string; field: string; count: number; example_rows: object[] }[];
    expect(groups.map(({ code, field, count }) => [code, field, count])).toEqual([
      ['invalid_date', 'metric_date', 4],
      ['id_damaged_by_spreadsheet', 'campaign_id', 1],
      ['invalid_number', 'spend', 1],
    ]);
    expect(groups[0]).toMatchObject({
      title: 'The date cannot be read',
      fix: expect.stringMatching(/YYYY-MM-DD/),
      message: expect.stringMatching(/^Column "Day": /),
    });
    // Three are enough to see what is meant; they come in the order of the file.
    expect(groups[0]?.example_rows).toMatchObject([
      { row_index: 1, value: 'someday', cells: { Day: 'someday', Clicks: '7' } },
      { row_index: 3, value: '32.13.2026' },
      { row_index: 4, value: 'never' },
    ]);
    expect(groups[2]?.example_rows).toMatchObject([{ row_index: 3, value: 'abc' }]);
  });

  test('are empty for an upload whose rows are all valid', async () => {
    const desk = await uploads.desk();
    const { upload_id: id } = await upload(desk, csv(good(1)));
    expect((await ask(desk, id, 'problems')).body).toEqual({ data: [], refused_rows: 0, has_more: false });
  });

  test('include rows that only promotion refused', async () => {
    const desk = await uploads.desk();
    await database.owner(`
      alter table daily_metrics add constraint no_thirteen check (clicks is null or clicks <> 13) not valid`);
    try {
      const record = await upload(desk, csv(good(1), 'Spring,11,2026-03-02,13,1.50'), {});
      expect(record).toMatchObject({ status: 'partial', promoted_rows: 1, failed_rows: 1 });
      const { body } = await ask(desk, record.upload_id, 'problems');
      expect(body).toMatchObject({
        refused_rows: 1,
        data: [
          {
            code: 'refused_by_database',
            field: 'row',
            count: 1,
            message: expect.stringMatching(
              /^The database refused this row, because a value is outside .*23514/,
            ),
            example_rows: [{ row_index: 1, value: null }],
          },
        ],
      });
    } finally {
      await database.owner('alter table daily_metrics drop constraint no_thirteen');
    }
  });

  test('list the fifty most frequent and say that there are more', async () => {
    const desk = await uploads.desk();
    const columns = Array.from({ length: 55 }, (_, n) => `Note ${n}`);
    const content = `${header},${columns.join(',')}\n${good(1)},${columns.map(() => 'a\0b').join(',')}\n`;
    const { upload_id: id } = await upload(desk, content);
    const { body } = await ask(desk, id, 'problems');
    expect(body).toMatchObject({ refused_rows: 1, has_more: true });
    expect(body.data).toHaveLength(50);
  });
});

describe('the columns of an upload', () => {
  test('come with some of their values', async () => {
    const desk = await uploads.desk();
    const long = 'x'.repeat(100);
    const { layout } = await upload(
      desk,
      `${header},,Note\n${[1, 2, 3, 4].map((n) => `${good(n)},${n},${n === 2 ? long : ''}`).join('\n')}\n`,
    );
    expect(layout).toMatchObject({
      headers: [...header.split(','), '', 'Note'],
      samples: [
        ['Spring'],
        ['11'],
        ['2026-03-01', '2026-03-02', '2026-03-03'],
        ['7'],
        ['1.50'],
        ['1', '2', '3'],
        [`${'x'.repeat(79)}…`],
      ],
    });
  });

  test.each([
    ['a table', 'Report of March\nKampf,,Wann\nSpring,x,2026-03-01\nAutumn,y,2026-03-02\n'],
    [
      'records',
      JSON.stringify([
        { Kampf: 'Spring', Wann: '2026-03-01' },
        { Kampf: 'Autumn', Wann: '2026-03-02' },
      ]),
    ],
  ])('come with some of their values when all are unknown, in %s', async (_, content) => {
    const desk = await uploads.desk();
    const { layout } = await upload(desk, content);
    expect(layout).toMatchObject({
      headers: ['Kampf', 'Wann'],
      samples: [
        ['Spring', 'Autumn'],
        ['2026-03-01', '2026-03-02'],
      ],
      missing: ['metric_date', 'campaign_name', 'impressions'],
    });
  });
});

describe('another mapping for an upload that is held', () => {
  const odd = 'Campaign name,Day,Clicks,Moneten\nSpring,2026-03-01,7,1.50\nAutumn,2026-03-02,8,zwei\n';
  const remap = (desk: UploadDesk, uploadId: string, mapping: object) =>
    ask(desk, uploadId, 'mapping', 'PUT', { mapping });

  test('is tried without promoting: counts and preview are those of the new mapping', async () => {
    const desk = await uploads.desk();
    const { upload_id: id } = await upload(desk, odd);
    const answer = await remap(desk, id, { Moneten: 'spend' });
    expect(answer).toMatchObject({ status: 202, body: { checking: true, status: 'staging_complete' } });
    expect(await ask(desk, id, 'preview')).toMatchObject({
      status: 409,
      body: { detail: expect.stringMatching(/read again with another mapping/) },
    });
    await uploads.drive(desk.tenantId);
    expect(await uploads.get(desk.claims, id)).toMatchObject({
      status: 'staging_complete',
      review: true,
      checking: false,
      mapping: { Moneten: 'spend' },
      total_rows: 2,
      valid_rows: 1,
      invalid_rows: 1,
      layout: { sources: { spend: 'Moneten' }, unmapped: [] },
    });
    expect((await ask(desk, id, 'preview')).body).toMatchObject({
      campaigns: { created: 1, updated: 0, unchanged: 0 },
      threshold: { total_rows: 2, valid_rows: 1, percent_needed: 90, is_met: false },
    });
    expect((await ask(desk, id, 'problems')).body).toMatchObject({ refused_rows: 1 });
    const [left] = await database.owner(
      'select count(*)::int as rows from daily_metrics where tenant_id = $1',
      [desk.tenantId],
    );
    expect(left).toEqual({ rows: 0 });
    const types = (await uploads.events(desk.tenantId)).map(({ type }) => type);
    expect(types.filter((type) => /remapped|checked/.test(type))).toEqual([
      'upload.remapped',
      'upload.checked',
    ]);
  });

  test('releases its slot after the trial', async () => {
    const desk = await uploads.desk();
    const { upload_id: id } = await upload(desk, odd);
    await remap(desk, id, { Moneten: 'spend' });
    await uploads.drive(desk.tenantId);
    const slots = await database.owner(
      'select from upload_slots where tenant_id = $1 and upload_id is not null',
      [desk.tenantId],
    );
    expect(slots).toEqual([]);
  });

  test('can be tried repeatedly, and the last one is promoted and remembered', async () => {
    const desk = await uploads.desk();
    const { upload_id: id } = await upload(desk, odd);
    for (const mapping of [
      { Moneten: 'spend' },
      { Clicks: null },
      { Moneten: null, Clicks: 'impressions' },
    ]) {
      expect((await remap(desk, id, mapping)).status).toBe(202);
      await uploads.drive(desk.tenantId);
    }
    expect(await uploads.get(desk.claims, id)).toMatchObject({ checking: false, valid_rows: 2 });
    expect((await ask(desk, id, 'promote', 'POST', {})).status).toBe(202);
    await uploads.drive(desk.tenantId);
    expect(await uploads.get(desk.claims, id)).toMatchObject({ status: 'completed', promoted_rows: 2 });
    const facts = await database.owner(
      `select impressions::int, clicks::int from daily_metrics where tenant_id = $1 order by metric_date`,
      [desk.tenantId],
    );
    expect(facts).toEqual([
      { impressions: 7, clicks: null },
      { impressions: 8, clicks: null },
    ]);
    const { body } = await uploads.call(desk.claims, '/api/uploads/mappings?platform=meta');
    expect(body.data).toEqual([{ platform: 'meta', mapping: { Moneten: null, Clicks: 'impressions' } }]);
  });

  test('helps an upload that lacks a required column, and names what is still missing', async () => {
    const desk = await uploads.desk();
    const content = 'Kampf,Wann,Klickibus\nSpring,2026-03-01,7\n';
    const { upload_id: id } = await upload(desk, content);
    await remap(desk, id, { Wann: 'metric_date' });
    await uploads.drive(desk.tenantId);
    expect(await uploads.get(desk.claims, id)).toMatchObject({
      checking: false,
      total_rows: 0,
      layout: { missing: ['campaign_name', 'impressions'] },
    });
    await remap(desk, id, { Wann: 'metric_date', Kampf: 'campaign_name', Klickibus: 'clicks' });
    await uploads.drive(desk.tenantId);
    const record = await uploads.get(desk.claims, id);
    expect(record).toMatchObject({ checking: false, total_rows: 1, valid_rows: 1 });
    expect(record.layout).not.toHaveProperty('missing');
  });

  test('changes nothing and reads nothing when it is the same', async () => {
    const desk = await uploads.desk();
    const { upload_id: id } = await upload(desk, odd);
    expect(await remap(desk, id, {})).toMatchObject({ status: 202, body: { checking: false } });
    const types = (await uploads.events(desk.tenantId)).map(({ type }) => type);
    expect(types).not.toContain('upload.remapped');
  });

  test('is refused for an upload that is not held, and for an unknown field', async () => {
    const desk = await uploads.desk();
    const { upload_id: done } = await upload(desk, csv(good(1)), {});
    expect(await remap(desk, done, {})).toMatchObject({
      status: 409,
      body: { code: 'upload_state_conflict' },
    });
    const { upload_id: held } = await upload(desk, odd);
    const wrong = await remap(desk, held, { Clicks: 'taps' });
    expect(wrong.status).toBe(400);
    expect(wrong.text).toMatch(/one of .*clicks/);
  });

  test('is still only tried, not promoted, after its worker dies', async () => {
    const desk = await uploads.desk();
    const { upload_id: id } = await upload(desk, odd);
    await remap(desk, id, { Moneten: 'spend' });
    await uploads.drive(desk.tenantId);
    // As a crash leaves it after the last rows and before the figures: all is read, and the record does not say so.
    await database.owner(
      `update data_uploads set layout = layout || '{"mapping_version": 0}' where upload_id = $1`,
      [id],
    );
    await database.owner(`update ingestion_jobs set run_at = now() where subject_id = $1`, [id]);
    await uploads.drive(desk.tenantId);
    expect(await uploads.get(desk.claims, id)).toMatchObject({
      status: 'staging_complete',
      checking: false,
      total_rows: 2,
      valid_rows: 1,
    });
  });
});

describe('what an undo would do', () => {
  const none = { campaigns: 0, ad_sets: 0, ads: 0, daily_metrics: 0 };

  test('matches what it then does', async () => {
    const desk = await uploads.desk();
    const wide = (lines: string[]) =>
      ['Campaign name,Campaign ID,Ad set name,Ad set ID,Ad name,Ad ID,Day,Clicks', ...lines, ''].join('\n');
    const first = await upload(
      desk,
      wide([
        'C1,1,S1,11,A1,111,2026-03-01,1',
        'C1,1,S1,11,A2,112,2026-03-01,1',
        'C2,2,S2,21,A3,211,2026-03-01,1',
      ]),
      {},
    );
    const second = await upload(
      desk,
      wide(['C1 renamed,1,S1,11,A2,112,2026-03-02,5', 'C3,3,S3,31,A4,311,2026-03-02,1']),
      {},
    );
    for (const { upload_id: id } of [first, second]) {
      const before = await ask(desk, id, 'undo');
      expect(before.status).toBe(200);
      const { body } = await ask(desk, id, 'undo', 'POST');
      expect({ deleted: body.deleted, not_undone: body.not_undone }).toEqual(before.body);
      expect(body.deleted).not.toEqual(none);
      expect(body.not_undone).not.toEqual(none);
    }
  });

  test('is refused when there is nothing to undo', async () => {
    const desk = await uploads.desk();
    const { upload_id: held } = await upload(desk, csv(good(1)));
    expect((await ask(desk, held, 'undo')).status).toBe(409);
    const { upload_id: done } = await upload(desk, csv(good(1)), {});
    expect((await ask(desk, done, 'undo', 'POST')).status).toBe(200);
    expect((await ask(desk, done, 'undo')).status).toBe(409);
  });
});

describe('lists', () => {
  test('can be filtered by platform and by part of the file name', async () => {
    const desk = await uploads.desk();
    const { upload_id: meta } = await upload(desk, csv(good(1)), { filename: 'March 100%.csv' });
    const { upload_id: google } = await upload(desk, csv(good(1)), {
      platform: 'google',
      filename: 'april.csv',
    });
    const listed = async (query: string) =>
      ((await uploads.call(desk.claims, `/api/uploads?${query}`)).body.data as { upload_id: string }[]).map(
        ({ upload_id: id }) => id,
      );
    expect(await listed('platform=google')).toEqual([google]);
    expect(await listed('filename=mARCH')).toEqual([meta]);
    expect(await listed('filename=100%25.c')).toEqual([meta]);
    expect(await listed('filename=.csv')).toEqual([google, meta]);
    expect(await listed('filename=_')).toEqual([]);
  });

  test.each(['campaigns', 'ad-sets', 'ads', 'daily-metrics'])(
    'can be filtered by upload: %s',
    async (list) => {
      const desk = await uploads.desk();
      const columns = 'Campaign name,Campaign ID,Ad set name,Ad set ID,Ad name,Ad ID,Day,Clicks';
      const content = (n: number) => `${columns}\nC,${n},S,1${n},A,2${n},2026-03-01,1\n`;
      const first = await upload(desk, content(1), {});
      const second = await upload(desk, content(2), {});
      for (const { upload_id: id } of [first, second]) {
        const { body } = await uploads.call(desk.claims, `/api/${list}?upload_id=${id}`);
        const rows = body.data as { last_upload: string }[];
        expect(rows.map(({ last_upload: last }) => last)).toEqual([id]);
        if (list !== 'campaigns') expect(rows).toMatchObject([{ campaign_name: 'C' }]);
      }
    },
  );
});
