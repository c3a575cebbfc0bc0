import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { type UploadDesk, useUploads } from '../support/servers/upload-server.ts';
import { useDatabase } from '../support/worlds/database.ts';

// A person corrects cells during review; the file itself stays as it is.
const database = useDatabase();
const uploads = useUploads(database);

const header = 'Campaign name,Campaign ID,Day,Clicks,Amount spent (USD)';
const spendColumn = 'Amount spent (USD)';
const csv = (...lines: string[]) => [header, ...lines, ''].join('\n');
const report = csv(
  'A,1,2026-03-01,7,1.50',
  'A,1,someday,7,2.25',
  'B,2,2026-03-03,7,much',
  'B,2,2026-03-04,7,4.00',
);

async function held(content = report) {
  const desk = await uploads.desk();
  const made = await uploads.post(desk.claims, content, { workspace_id: desk.workspaceId, review: 'true' });
  expect(made.status).toBe(201);
  await uploads.drive(desk.tenantId);
  return { desk, id: made.body.upload_id };
}

const ask = ({ claims }: UploadDesk, id: string, what: string, method = 'GET', body?: object) =>
  uploads.call(claims, `/api/uploads/${id}/${what}`, method, body);

async function correct(desk: UploadDesk, id: string, rows: object[]) {
  const answer = await ask(desk, id, 'corrections', 'POST', { rows });
  await uploads.drive(desk.tenantId);
  return answer;
}

const fixes = [
  { row_index: 1, cells: { Day: '2026-03-02' } },
  { row_index: 2, cells: { [spendColumn]: '3.00' } },
];

const storedSpend = async (tenantId: string) =>
  database.owner<{ day: string; spend: string; line: number }>(
    `select metric_date::text as day, spend::text, line_no as line from daily_metrics
      where tenant_id = $1 order by metric_date`,
    [tenantId],
  );

describe('corrected cells', () => {
  test('turn their rows valid, are promoted, and show in reconciliation, warnings and events', async () => {
    const { desk, id } = await held();
    expect(await uploads.get(desk.claims, id)).toMatchObject({ valid_rows: 2, invalid_rows: 2 });
    const answer = await correct(desk, id, fixes);
    expect(answer).toMatchObject({ status: 202, body: { checking: true, status: 'staging_complete' } });
    const checked = await uploads.get(desk.claims, id);
    expect(checked).toMatchObject({
      checking: false,
      valid_rows: 4,
      invalid_rows: 0,
      status: 'staging_complete',
    });
    expect(checked.warnings).toContainEqual(expect.objectContaining({ code: 'cells_corrected', count: 2 }));
    expect((await ask(desk, id, 'promote', 'POST', {})).status).toBe(202);
    await uploads.drive(desk.tenantId);
    expect(await uploads.get(desk.claims, id)).toMatchObject({ status: 'completed', promoted_rows: 4 });
    expect(await storedSpend(desk.tenantId)).toEqual([
      { day: '2026-03-01', spend: '1.5', line: 2 },
      { day: '2026-03-02', spend: '2.25', line: 3 },
      { day: '2026-03-03', spend: '3', line: 4 },
      { day: '2026-03-04', spend: '4', line: 5 },
    ]);
    const { body } = await ask(desk, id, 'reconciliation');
    expect(body).toMatchObject({
      agrees: true,
      figures: {
        spend: { file_lines: '10.75', file_total: null, promoted: '10.75', corrected_cells: 1, agrees: true },
        conversions: { file_lines: null, corrected_cells: 0 },
      },
    });
    expect(body.notes).toContainEqual({
      code: 'cell_corrected',
      message: `Line 4, column "${spendColumn}": "much" was corrected to "3.00" by ${await userOf(id)}.`,
    });
    const events = await uploads.events(desk.tenantId);
    expect(events.find(({ type }) => type === 'upload.corrected')?.data).toMatchObject({
      cells: 2,
      corrected_by: await userOf(id),
      corrections: [
        { row_index: 1, line: 3, header: 'Day', old_value: 'someday', new_value: '2026-03-02' },
        { row_index: 2, line: 4, header: spendColumn, old_value: 'much', new_value: '3.00' },
      ],
    });
  });

  const userOf = async (id: string) => {
    const [row] = await database.owner<{ user_id: string }>(
      'select distinct user_id from upload_corrections where upload_id = $1',
      [id],
    );
    return row?.user_id;
  };

  test('are listed with who and when, downloaded as CSV, and taken back row by row', async () => {
    const { desk, id } = await held();
    await correct(desk, id, fixes);
    // Corrected again: the old value stays what the file says.
    await correct(desk, id, [{ row_index: 2, cells: { [spendColumn]: '3.50' } }]);
    const { body } = await ask(desk, id, 'corrections');
    expect(body.data).toMatchObject([
      { row_index: 1, line: 3, column: 'Day', old_value: 'someday', new_value: '2026-03-02' },
      { row_index: 2, line: 4, column: spendColumn, old_value: 'much', new_value: '3.50' },
    ]);
    const headers = await uploads.server.bearer(desk.claims);
    const file = await fetch(`${uploads.server.url}/api/uploads/${id}/corrections.csv`, { headers });
    const rows = parse(await file.text(), { bom: true, columns: true }) as Record<string, string>[];
    expect(rows.map(({ line, old_value, new_value }) => [line, old_value, new_value])).toEqual([
      ['3', 'someday', '2026-03-02'],
      ['4', 'much', '3.50'],
    ]);
    expect((await ask(desk, id, 'corrections?row_index=1', 'DELETE')).status).toBe(202);
    await uploads.drive(desk.tenantId);
    expect(await uploads.get(desk.claims, id)).toMatchObject({ valid_rows: 3, invalid_rows: 1 });
    await ask(desk, id, 'corrections', 'DELETE');
    await uploads.drive(desk.tenantId);
    const restored = await uploads.get(desk.claims, id);
    expect(restored).toMatchObject({ valid_rows: 2, invalid_rows: 2 });
    expect(restored.warnings).toEqual([]);
  });

  test('stay in rejected.csv with a note when their row is still refused, and that file can be uploaded', async () => {
    const { desk, id } = await held(csv('A,1,someday,many,1.00', 'B,2,2026-03-03,7,2.00'));
    await correct(desk, id, [{ row_index: 0, cells: { Day: '2026-03-01' } }]);
    const headers = await uploads.server.bearer(desk.claims);
    const file = await fetch(`${uploads.server.url}/api/uploads/${id}/rejected.csv`, { headers });
    const text = await file.text();
    const [row] = parse(text, { bom: true, columns: true }) as Record<string, string>[];
    expect(row).toMatchObject({
      Day: '2026-03-01',
      Clicks: 'many',
      'Corrected by hand': 'Day: "someday" → "2026-03-01"',
      'Rejection reason': expect.stringContaining('clicks'),
    });
    const again = await uploads.post(desk.claims, text.replace('many', '7'), {
      workspace_id: desk.workspaceId,
    });
    await uploads.drive(desk.tenantId);
    expect(await uploads.get(desk.claims, again.body.upload_id)).toMatchObject({
      status: 'completed',
      promoted_rows: 1,
      daily_metrics_upserted: 1,
      breakdowns_stored: 0,
    });
  });

  test('go into the right one of two columns with the same name', async () => {
    const content = 'Campaign ID,Day,Note,Note,Clicks\n1,someday,x,y,7\n';
    const { desk, id } = await held(content);
    const wrong = await ask(desk, id, 'rows?validation_status=invalid');
    expect(wrong.body.data).toMatchObject([{ raw_data: { Note: 'x', 'Note (2)': 'y' } }]);
    await correct(desk, id, [{ row_index: 0, cells: { Day: '2026-03-01', 'Note (2)': 'z' } }]);
    const kept = await database.owner('select column_index, old_value from upload_corrections order by 1');
    expect(kept).toContainEqual({ column_index: 3, old_value: 'y' });
    expect(await uploads.get(desk.claims, id)).toMatchObject({ valid_rows: 1 });
  });
});

describe('a correction is refused', () => {
  test('for a row that was not refused, a column that is not there, and an upload that is not held', async () => {
    const { desk, id } = await held();
    const refused = async (rows: object[]) => (await ask(desk, id, 'corrections', 'POST', { rows })).body;
    expect(await refused([{ row_index: 0, cells: { Day: '2026-03-09' } }])).toMatchObject({
      status: 409,
      code: 'row_not_correctable',
    });
    expect(await refused([{ row_index: 1, cells: { Dya: '2026-03-09' } }])).toMatchObject({
      status: 422,
      code: 'column_unknown',
      detail: expect.stringContaining('"Day"'),
    });
    expect(await database.owner('select 1 from upload_corrections where upload_id = $1', [id])).toEqual([]);
    await ask(desk, id, 'promote', 'POST', { force_partial: true });
    await uploads.drive(desk.tenantId);
    expect(await refused(fixes)).toMatchObject({ status: 409, code: 'upload_state_conflict' });
  });

  test('while the file is being read again, and for somebody else’s upload', async () => {
    const { desk, id } = await held();
    expect((await ask(desk, id, 'corrections', 'POST', { rows: fixes })).status).toBe(202);
    const second = await ask(desk, id, 'corrections', 'POST', { rows: fixes });
    expect(second).toMatchObject({ status: 409, body: { code: 'upload_state_conflict' } });
    const member = {
      ...desk,
      claims: { tenantId: desk.tenantId, role: 'member' as const, userId: 'stranger' },
    };
    expect((await ask(member, id, 'corrections')).status).toBe(404);
    expect((await ask(member, id, 'corrections', 'POST', { rows: fixes })).status).toBe(404);
  });
});
