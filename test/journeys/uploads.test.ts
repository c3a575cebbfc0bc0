import { expect, test } from 'vitest';
import { useUploads } from '../support/servers/upload-server.ts';
import { useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const uploads = useUploads(database);

const header =
  'Campaign name,Campaign ID,Ad set name,Ad set ID,Ad name,Ad ID,Day,Impressions,Clicks (all),Amount spent (USD)';
const line = (n: number, spend: string, day = '2026-03-01') =>
  `Spring,120210000000000001,Set ${n % 3},12021000000000001${n % 3},Ad ${n},1202100000000000${10 + n},` +
  `${day},${n * 10},${n},${spend}`;

function report(lines: string[]): string {
  return `${header}\n${lines.join('\n')}\n`;
}

test('a report goes from file to production with its event, and a second time changes nothing', async () => {
  const { tenantId, workspaceId } = await uploads.tenant();
  const claims = { tenantId, role: 'admin' as const };
  const csv = report([line(1, '10.10'), line(2, '20.20'), line(3, '0.03')]);
  const made = await uploads.post(claims, csv, { workspace_id: workspaceId });
  expect(made).toMatchObject({ status: 201, body: { status: 'pending' } });
  await uploads.drive(tenantId);
  const done = await uploads.get(claims, made.body.upload_id);
  expect(done).toMatchObject({
    status: 'completed',
    total_rows: 3,
    valid_rows: 3,
    promoted_rows: 3,
    failed_rows: 0,
    row_count: 3,
    campaigns_upserted: 1,
    ad_sets_upserted: 3,
    ads_upserted: 3,
    daily_metrics_upserted: 3,
    affected_dates: ['2026-03-01'],
    error_text: null,
  });
  const metrics = await uploads.call(claims, `/api/daily-metrics?workspace_id=${workspaceId}&platform=meta`);
  const byImpressions = (metrics.body.data as { impressions: number }[]).sort(
    (a, b) => a.impressions - b.impressions,
  );
  expect(byImpressions).toMatchObject([
    { metric_date: '2026-03-01', impressions: 10, clicks: 1, spend: 10.1, currency: 'USD' },
    { impressions: 20, clicks: 2, spend: 20.2 },
    { impressions: 30, clicks: 3, spend: 0.03, ad_external_id: '120210000000000013' },
  ]);
  const events = await uploads.events(tenantId);
  expect(events.filter(({ type }) => type.startsWith('upload.')).map(({ type }) => type)).toEqual([
    'upload.pending',
    'upload.processing',
    'upload.staging_complete',
    'upload.promoting',
    'upload.completed',
  ]);
  expect(events.filter(({ type }) => type === 'ingestion.complete')).toMatchObject([
    {
      subject: made.body.upload_id,
      data: {
        status: 'completed',
        metrics: { total_rows: 3, promoted_rows: 3, failed_rows: 0, daily_metrics_upserted: 3 },
        affected_dates: ['2026-03-01'],
      },
    },
  ]);
  const before = await database.owner('select * from daily_metrics where tenant_id = $1 order by metric_id', [
    tenantId,
  ]);
  const again = await uploads.post(claims, csv, { workspace_id: workspaceId });
  await uploads.drive(tenantId);
  expect(await uploads.get(claims, again.body.upload_id)).toMatchObject({
    status: 'completed',
    promoted_rows: 3,
  });
  const after = await database.owner('select * from daily_metrics where tenant_id = $1 order by metric_id', [
    tenantId,
  ]);
  const values = (rows: object[]) => rows.map((row) => ({ ...row, confirmed_by_upload: null, as_of: null }));
  expect(values(after)).toEqual(values(before));
});

test('a preview counts what promotion would create, update and leave, and promotion does exactly that', async () => {
  const { tenantId, workspaceId } = await uploads.tenant();
  const claims = { tenantId, role: 'admin' as const };
  await uploads.post(claims, report([line(1, '10'), line(2, '20')]), { workspace_id: workspaceId });
  await uploads.drive(tenantId);
  const changed = report([line(1, '10'), line(2, '21'), line(3, '30')]).replaceAll(',Ad 1,', ',Renamed,');
  const fields = { workspace_id: workspaceId, review: 'true' };
  const held = (await uploads.post(claims, changed, fields)).body.upload_id;
  await uploads.drive(tenantId, 5_000);
  expect(await uploads.get(claims, held)).toMatchObject({ status: 'staging_complete' });
  const preview = await uploads.call(claims, `/api/uploads/${held}/preview`);
  expect(preview.body).toEqual({
    campaigns: { created: 0, updated: 0, unchanged: 1 },
    ad_sets: { created: 1, updated: 0, unchanged: 2 },
    ads: { created: 1, updated: 1, unchanged: 1 },
    daily_metrics: { created: 1, updated: 1, unchanged: 1 },
    period_metrics: { created: 0, updated: 0, unchanged: 0 },
    threshold: { total_rows: 3, valid_rows: 3, percent_needed: 90, is_met: true },
  });
  expect((await uploads.call(claims, `/api/uploads/${held}/promote`, 'POST', {})).status).toBe(202);
  await uploads.drive(tenantId);
  expect(await uploads.get(claims, held)).toMatchObject({ status: 'completed', promoted_rows: 3 });
  const [sum] = await database.owner(
    'select sum(spend)::text as spend from daily_metrics where tenant_id = $1',
    [tenantId],
  );
  expect(sum).toEqual({ spend: '61' });
  expect((await uploads.call(claims, `/api/uploads/${held}/preview`)).status).toBe(409);
});

test('daily metrics can be read whatever number is stored', async () => {
  const { tenantId, workspaceId } = await uploads.tenant();
  const claims = { tenantId, role: 'admin' as const };
  await uploads.post(claims, report([line(1, `${'9'.repeat(18)}.${'9'.repeat(20)}`)]), {
    workspace_id: workspaceId,
  });
  await uploads.drive(tenantId);
  // As a release that had no limit for counts left them.
  await database.owner(
    'update daily_metrics set impressions = 9223372036854775807, clicks = 9007199254740993 where tenant_id = $1',
    [tenantId],
  );
  const answer = await uploads.call(claims, '/api/daily-metrics');
  expect(answer).toMatchObject({ status: 200, body: { data: [{ spend: 1e18 }] } });
  expect(answer.body.data).toMatchObject([{ impressions: 2 ** 63, clicks: 9_007_199_254_740_992 }]);
});
