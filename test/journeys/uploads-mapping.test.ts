import { describe, expect, test } from 'vitest';
import type { Platform } from '../../src/ingest/uploads/reports/types.ts';
import { type UploadDesk, useUploads } from '../support/servers/upload-server.ts';
import { useDatabase } from '../support/worlds/database.ts';

// Columns that no alias knows, and the people who say what they are.
const database = useDatabase();
const uploads = useUploads(database);

async function upload(
  desk: UploadDesk,
  content: string,
  { mapping, ...more }: { mapping?: object; platform?: Platform; review?: string } = {},
) {
  const fields = { ...more, ...(mapping ? { mapping: JSON.stringify(mapping) } : {}) };
  const made = await uploads.post(desk.claims, content, { workspace_id: desk.workspaceId, ...fields });
  expect(made.status).toBe(201);
  await uploads.drive(desk.tenantId);
  return uploads.get(desk.claims, made.body.upload_id);
}

function production({ tenantId }: UploadDesk): Promise<object[]> {
  return database.owner(
    `select c.name, m.metric_date::text as day, m.clicks::int, trim_scale(m.spend)::text as spend
       from daily_metrics m join campaigns c using (tenant_id, campaign_id)
      where m.tenant_id = $1
      order by c.name, m.metric_date`,
    [tenantId],
  );
}

async function remembered({ claims }: UploadDesk, query = '') {
  const { status, body } = await uploads.call(claims, `/api/uploads/mappings${query}`);
  expect(status).toBe(200);
  return body.data;
}

const odd = 'Kampf,Wann,Moneten,Klickibus,Notiz\nSpring,2026-03-01,1.50,7,x\nAutumn,2026-03-02,2.25,8,y\n';
const mapping = { Kampf: 'campaign_name', Wann: 'metric_date', Moneten: 'spend', Klickibus: 'clicks' };
const facts = [
  { name: 'Autumn', day: '2026-03-02', clicks: 8, spend: '2.25' },
  { name: 'Spring', day: '2026-03-01', clicks: 7, spend: '1.5' },
];

describe('a mapping that comes with the file', () => {
  test('makes unknown columns readable, and is remembered after the upload completes', async () => {
    const desk = await uploads.desk();
    expect(await upload(desk, odd)).toMatchObject({
      status: 'failed',
      error_code: 'required_columns_missing',
    });
    expect(await upload(desk, odd, { mapping })).toMatchObject({
      status: 'completed',
      promoted_rows: 2,
      mapping,
    });
    expect(await production(desk)).toEqual(facts);
    expect(await remembered(desk, '?platform=meta')).toEqual([{ platform: 'meta', mapping }]);
    expect(await upload(desk, odd)).toMatchObject({ status: 'completed', promoted_rows: 2, mapping });
  });

  test('is remembered for its platform and its tenant, and for no other', async () => {
    const [desk, others] = [await uploads.desk(), await uploads.desk()];
    await upload(desk, odd, { mapping });
    expect(await upload(desk, odd, { platform: 'google' })).toMatchObject({ status: 'failed' });
    expect(await upload(others, odd)).toMatchObject({ status: 'failed' });
    expect(await remembered(desk)).toEqual([
      { platform: 'meta', mapping },
      { platform: 'google', mapping: {} },
      { platform: 'tiktok', mapping: {} },
    ]);
    expect(await remembered(others)).toMatchObject([{ mapping: {} }, { mapping: {} }, { mapping: {} }]);
  });

  test('is not remembered when the import fails', async () => {
    const desk = await uploads.desk();
    const wrong = { ...mapping, Wann: 'clicks', Klickibus: 'metric_date' };
    expect(await upload(desk, odd, { mapping: wrong })).toMatchObject({
      status: 'failed',
      error_code: 'no_valid_rows',
    });
    expect(await remembered(desk, '?platform=meta')).toEqual([{ platform: 'meta', mapping: {} }]);
  });

  test('takes precedence over the remembered mapping and over known names', async () => {
    const desk = await uploads.desk();
    const csv = 'Campaign name,Day,Amount spent (USD),Net,Clicks\nSpring,2026-03-01,9.99,1.50,7\n';
    await upload(desk, csv, { mapping: { Net: 'spend' } });
    expect(await production(desk)).toMatchObject([{ spend: '1.5' }]);
    await upload(desk, csv, { mapping: { Net: null, 'Amount spent (USD)': 'spend' } });
    expect(await production(desk)).toMatchObject([{ spend: '9.99' }]);
    await upload(desk, csv, { mapping: { Clicks: null } });
    expect(await remembered(desk, '?platform=meta')).toMatchObject([
      { mapping: { Net: null, 'Amount spent (USD)': 'spend', Clicks: null } },
    ]);
  });

  test('also works for the members of JSON records', async () => {
    const desk = await uploads.desk();
    const records = [{ deep: { who: 'Spring', when: '2026-03-01' }, taps: 7, money: '1.50' }];
    const paths = { 'deep.who': 'campaign_name', 'deep.when': 'metric_date', taps: 'clicks', money: 'spend' };
    expect(await upload(desk, JSON.stringify(records), { mapping: paths })).toMatchObject({
      status: 'completed',
    });
    expect(await production(desk)).toEqual([facts[1]]);
  });
});

describe('the mappings of a tenant', () => {
  const put = ({ claims }: UploadDesk, body: object) =>
    uploads.call(claims, '/api/uploads/mappings', 'PUT', body);

  test('are replaced as a whole and used by the next upload', async () => {
    const desk = await uploads.desk();
    expect(await put(desk, { platform: 'meta', mapping: { Old: 'spend' } })).toMatchObject({ status: 200 });
    const answer = await put(desk, { platform: 'meta', mapping });
    expect(answer).toMatchObject({ status: 200, body: { platform: 'meta', mapping } });
    expect(await remembered(desk, '?platform=meta')).toEqual([{ platform: 'meta', mapping }]);
    expect(await upload(desk, odd)).toMatchObject({ status: 'completed' });
    expect(await production(desk)).toEqual(facts);
  });

  test('may name a column like a prototype member, in every format', async () => {
    const named = (field: string) => `{"Kampf":"campaign_name","Wann":"metric_date","__proto__":"${field}"}`;
    const report = 'Kampf,Wann,__proto__,constructor\nSpring,2026-03-01,1.50,7\nAutumn,2026-03-02,abc,8\n';
    const desk = await uploads.desk();
    const send = async (route: string, method: string, body: string) => {
      const headers = { ...(await uploads.server.bearer(desk.claims)), 'content-type': 'application/json' };
      const answer = await fetch(`${uploads.server.url}${route}`, { method, headers, body });
      return { status: answer.status, text: await answer.text() };
    };
    const made = await uploads.post(desk.claims, report, {
      ...{ workspace_id: desk.workspaceId, review: 'true', mapping: named('clicks'), force_partial: 'true' },
    });
    expect(made.status).toBe(201);
    await uploads.drive(desk.tenantId);
    const own = `/api/uploads/${made.body.upload_id}`;
    expect((await uploads.call(desk.claims, own)).text).toContain('"__proto__":"clicks"');
    const remapped = await send(`${own}/mapping`, 'PUT', `{"mapping":${named('spend')}}`);
    expect(remapped).toMatchObject({ status: 202, text: expect.stringContaining('"__proto__":"spend"') });
    await uploads.drive(desk.tenantId);
    const rows = await uploads.call(desk.claims, `${own}/rows?validation_status=invalid`);
    expect(rows.text).toContain('"__proto__":"abc"');
    expect((await uploads.call(desk.claims, `${own}/problems`)).text).toContain('"__proto__":"abc"');
    const promoted = await send(`${own}/promote`, 'POST', `{"mapping":${named('spend')}}`);
    expect(promoted.status).toBe(202);
    await uploads.drive(desk.tenantId);
    expect(await production(desk)).toEqual([
      { name: 'Spring', day: '2026-03-01', clicks: null, spend: '1.5' },
    ]);
    const put = await send('/api/uploads/mappings', 'PUT', `{"platform":"meta","mapping":${named('spend')}}`);
    expect(put).toMatchObject({ status: 200, text: expect.stringContaining('"__proto__":"spend"') });
    const kept = await uploads.call(desk.claims, '/api/uploads/mappings?platform=meta');
    expect(kept.text).toContain('"__proto__":"spend"');
    expect(Object.hasOwn(Object.prototype, 'spend')).toBe(false);
    const wrong = await send(
      '/api/uploads/mappings',
      'PUT',
      '{"platform":"meta","mapping":{"__proto__":{"a":1}}}',
    );
    expect(wrong).toMatchObject({ status: 400, text: expect.stringMatching(/one of .*spend/) });
  });

  test('are refused with the place of the error, and stay unchanged', async () => {
    const desk = await uploads.desk();
    await put(desk, { platform: 'meta', mapping });
    for (const [body, says] of [
      [{ platform: 'meta', mapping: { Kampf: 'campaign' } }, /one of .*campaign_name/],
      [{ platform: 'bing', mapping: {} }, /one of .*tiktok/],
      [{ platform: 'meta' }, /mapping/],
      [{ platform: 'meta', mapping: { 'a\0b': 'spend' } }, /mapping/],
      [{ platform: 'meta', mapping: {}, more: 1 }, /allowed: platform, mapping/],
    ] as const) {
      const answer = await put(desk, body);
      expect(answer.status).toBe(400);
      expect(answer.text).toMatch(says);
    }
    expect(await remembered(desk, '?platform=meta')).toEqual([{ platform: 'meta', mapping }]);
  });
});

describe('an upload for review', () => {
  const csv = 'Campaign name,Day,Clicks,Amount spendt\nSpring,2026-03-01,7,1.50\nAutumn,2026-03-02,8,2.25\n';
  const promote = ({ claims }: UploadDesk, uploadId: string, body: object = {}) =>
    uploads.call(claims, `/api/uploads/${uploadId}/promote`, 'POST', body);

  async function held() {
    const desk = await uploads.desk();
    const record = await upload(desk, csv, { review: 'true' });
    expect(record).toMatchObject({ status: 'staging_complete', review: true, total_rows: 2, valid_rows: 2 });
    return { desk, record };
  }

  test('waits with its rows staged, shows unknown columns, and holds no slot', async () => {
    const { desk, record } = await held();
    expect(record.layout).toMatchObject({
      headers: ['Campaign name', 'Day', 'Clicks', 'Amount spendt'],
      sources: { campaign_name: 'Campaign name', metric_date: 'Day', clicks: 'Clicks' },
      unmapped: [{ header: 'Amount spendt', suggestion: 'spend' }],
    });
    await uploads.drive(desk.tenantId);
    expect(await uploads.get(desk.claims, record.upload_id)).toMatchObject({ status: 'staging_complete' });
    expect(await production(desk)).toEqual([]);
    const slots = await database.owner(
      'select from upload_slots where tenant_id = $1 and upload_id is not null',
      [desk.tenantId],
    );
    expect(slots).toEqual([]);
    const rows = await uploads.call(
      desk.claims,
      `/api/uploads/${record.upload_id}/rows?entity_type=daily_metric`,
    );
    expect(rows.body.data).toMatchObject([
      { row_index: 0, raw_data: { clicks: 7, spend: null } },
      { row_index: 1, raw_data: { clicks: 8, spend: null } },
    ]);
  });

  test('continues unchanged when nothing is edited', async () => {
    const { desk, record } = await held();
    expect(await promote(desk, record.upload_id)).toMatchObject({ status: 202, body: { review: false } });
    await uploads.drive(desk.tenantId);
    expect(await uploads.get(desk.claims, record.upload_id)).toMatchObject({
      status: 'completed',
      promoted_rows: 2,
    });
    expect(await production(desk)).toEqual(facts.map((fact) => ({ ...fact, spend: null })));
  });

  test('is staged again with a new mapping, which is remembered', async () => {
    const { desk, record } = await held();
    const chosen = { 'Amount spendt': 'spend' };
    expect(await promote(desk, record.upload_id, { mapping: chosen })).toMatchObject({ status: 202 });
    await uploads.drive(desk.tenantId);
    expect(await uploads.get(desk.claims, record.upload_id)).toMatchObject({
      status: 'completed',
      total_rows: 2,
      promoted_rows: 2,
      mapping: chosen,
    });
    expect(await production(desk)).toEqual(facts);
    expect(await remembered(desk, '?platform=meta')).toEqual([{ platform: 'meta', mapping: chosen }]);
  });

  test('fails with its reason when the new mapping makes no sense', async () => {
    const { desk, record } = await held();
    await promote(desk, record.upload_id, { mapping: { Clicks: 'metric_date', Day: 'clicks' } });
    await uploads.drive(desk.tenantId);
    expect(await uploads.get(desk.claims, record.upload_id)).toMatchObject({
      status: 'failed',
      error_code: 'no_valid_rows',
      total_rows: 2,
      valid_rows: 0,
    });
    expect(await remembered(desk, '?platform=meta')).toEqual([{ platform: 'meta', mapping: {} }]);
  });

  test.each([
    ['a table', odd],
    ['records', JSON.stringify([{ Kampf: 'Spring', Wann: '2026-03-01', Moneten: 1.5, Klickibus: 7 }])],
  ])(
    'waits for a mapping when a required column is missing (%s), and continues with it',
    async (_, content) => {
      const desk = await uploads.desk();
      const record = await upload(desk, content, { review: 'true' });
      expect(record).toMatchObject({
        status: 'staging_complete',
        total_rows: 0,
        warnings: [
          { code: 'required_columns_missing', message: expect.stringMatching(/no column for the day/) },
        ],
        layout: { missing: ['metric_date', 'campaign_name', 'impressions'] },
      });
      const { headers, unmapped } = record.layout as { headers: string[]; unmapped: { header: string }[] };
      expect(headers.slice(0, 4)).toEqual(Object.keys(mapping));
      expect(unmapped.map(({ header }) => header)).toEqual(headers);
      await promote(desk, record.upload_id, { mapping });
      await uploads.drive(desk.tenantId);
      expect(await uploads.get(desk.claims, record.upload_id)).toMatchObject({
        status: 'completed',
        warnings: [{ code: 'name_key' }],
      });
      expect(await production(desk)).toEqual(facts.slice(content === odd ? 0 : 1));
    },
  );

  test('fails when it is promoted without a required column', async () => {
    const desk = await uploads.desk();
    const { upload_id: uploadId } = await upload(desk, odd, { review: 'true' });
    expect((await promote(desk, uploadId)).status).toBe(202);
    await uploads.drive(desk.tenantId);
    expect(await uploads.get(desk.claims, uploadId)).toMatchObject({
      status: 'failed',
      error_code: 'required_columns_missing',
    });
  });

  test('is promoted once, and a wrong body is refused with its error', async () => {
    const { desk, record } = await held();
    const wrong = await promote(desk, record.upload_id, { mapping: { Clicks: 'taps' } });
    expect(wrong.status).toBe(400);
    expect(wrong.text).toMatch(/one of .*clicks/);
    expect((await promote(desk, record.upload_id)).status).toBe(202);
    expect(await promote(desk, record.upload_id)).toMatchObject({
      status: 409,
      body: { code: 'upload_state_conflict', detail: expect.stringMatching(/staging_complete/) },
    });
  });

  test('can be canceled while it waits', async () => {
    const { desk, record } = await held();
    const answer = await uploads.call(desk.claims, `/api/uploads/${record.upload_id}/cancel`, 'POST');
    expect(answer).toMatchObject({ status: 200, body: { status: 'failed', error_text: 'Canceled by user' } });
    expect((await promote(desk, record.upload_id)).status).toBe(409);
    expect(await production(desk)).toEqual([]);
  });
});
