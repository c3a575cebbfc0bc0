import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useDatabase } from '../../../test/support/worlds/database.ts';
import { signatureFor } from '../../../test/support/worlds/tenant-signature.ts';
import { adLine, adReport, type Place, useUploadRuns } from '../../../test/support/worlds/upload-runs.ts';
import type { Upload } from './types.ts';

/** What each role may write; everything that is not listed is refused. */
const tables = [
  'data_uploads',
  'staging_rows',
  'staging_id_resolution',
  'campaigns',
  'ad_sets',
  'ads',
  'daily_metrics',
  'period_metrics',
  'metric_breakdowns',
  'staging_repeats',
] as const;
type Table = (typeof tables)[number];
type Right = 'insert' | 'update' | 'delete';
type Role = 'sluice_intake' | 'sluice_parse' | 'sluice_promote' | 'sluice_cleanup' | 'sluice_tenant';

const production = ['insert', 'update', 'delete'] as const;
const mayWrite: Record<Role, Partial<Record<Table, readonly Right[]>>> = {
  sluice_intake: { data_uploads: ['insert', 'update'] },
  sluice_parse: {
    data_uploads: ['update'],
    staging_rows: ['insert', 'update'],
    staging_repeats: ['insert', 'update'],
  },
  sluice_promote: {
    data_uploads: ['update'],
    staging_rows: ['update'],
    staging_id_resolution: production,
    campaigns: production,
    ad_sets: production,
    ads: production,
    daily_metrics: production,
    period_metrics: production,
    metric_breakdowns: production,
    staging_repeats: ['update'],
  },
  sluice_cleanup: {
    staging_rows: ['delete'],
    staging_id_resolution: ['delete'],
    staging_repeats: ['delete'],
  },
  sluice_tenant: {},
};

/** Columns that only some of the roles that may update a table may change. */
const columns: Partial<Record<Table, Record<string, readonly Role[]>>> = {
  data_uploads: {
    status: ['sluice_intake', 'sluice_parse', 'sluice_promote'],
    error_text: ['sluice_intake', 'sluice_parse', 'sluice_promote'],
    total_rows: ['sluice_parse'],
    valid_rows: ['sluice_parse'],
    invalid_rows: ['sluice_parse'],
    layout: ['sluice_parse'],
    row_count: ['sluice_promote'],
    promoted_rows: ['sluice_promote'],
    affected_dates: ['sluice_promote'],
    event_emitted: ['sluice_promote'],
    mapping: ['sluice_intake'],
    review: ['sluice_intake', 'sluice_parse'],
    force_partial: ['sluice_intake'],
    file_id: [],
    file_url: [],
    job_id: [],
    platform: [],
    workspace_id: [],
    created_by: [],
    created_at: [],
    tenant_id: [],
  },
  staging_rows: {
    promotion_error: ['sluice_parse', 'sluice_promote'],
    promotion_warning: ['sluice_promote'],
    raw_data: [],
    validation_status: [],
    validation_errors: [],
    row_index: [],
    tenant_id: [],
  },
};

const database = useDatabase();
const uploads = useUploadRuns(database);
let client: pg.Client;
let signature: string;
let place: Place;
let upload: Upload;

beforeAll(async () => {
  client = new pg.Client({ connectionString: database.appUrl });
  await client.connect();
  place = await uploads.place();
  signature = await signatureFor(database, place.tenantId);
  const { kernel } = await uploads.start();
  upload = await uploads.take(place, adReport([adLine(1)]));
  // A range, broken down: rows in all tables.
  await uploads.take(
    place,
    'Reporting starts,Reporting ends,Campaign name,Age,Reach,Amount spent (USD)\n' +
      '2026-03-01,2026-03-31,A,18-24,1,1\n2026-03-01,2026-03-31,A,25-34,1,1\n',
  );
  await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
  expect((await uploads.upload(upload)).status).toBe('completed');
});
afterAll(() => client.end());

async function enter(
  role: Role,
  { tenantId, signature }: { tenantId: string; signature: string },
): Promise<void> {
  await client.query(
    `select set_config('role', $1, true), set_config('app.tenant_id', $2, true),
            set_config('app.tenant_signature', $3, true)`,
    [role, tenantId, signature],
  );
}

/** Runs a statement under a role and tenant and rolls it back. Returns the code of the refusal, or null. */
async function attempt(role: Role, text: string): Promise<string | null> {
  await client.query('begin');
  try {
    await enter(role, { tenantId: place.tenantId, signature });
    const { rowCount } = await client.query(text);
    // A statement that finds no row would prove nothing.
    expect(rowCount).toBeGreaterThan(0);
    return null;
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === undefined) throw error;
    return code;
  } finally {
    await client.query('rollback');
  }
}

const firstColumn: Record<Table, string> = {
  data_uploads: 'status',
  staging_rows: 'promotion_error',
  staging_id_resolution: 'production_id',
  campaigns: 'name',
  ad_sets: 'name',
  ads: 'name',
  daily_metrics: 'spend',
  period_metrics: 'spend',
  metric_breakdowns: 'spend',
  staging_repeats: 'spend',
};

const anId = 'gen_random_uuid()';
function insertInto(table: Table): string {
  const { tenantId, workspaceId } = place;
  const entity = `'${tenantId}', '${workspaceId}', 'meta', '1', false, now(), ${anId}, ${anId}`;
  const entityColumns =
    'tenant_id, workspace_id, platform, external_id, is_name_key, as_of, created_by_upload, last_upload';
  switch (table) {
    case 'data_uploads':
      return `insert into data_uploads (tenant_id, upload_id, workspace_id, platform, source, file_id, file_url, job_id,
          created_by, user_id)
        values ('${tenantId}', ${anId}, '${workspaceId}', 'meta', 'manual', ${anId}, 'x', ${anId}, 'x', 'x')`;
    case 'staging_rows':
      return `insert into staging_rows (tenant_id, upload_id, workspace_id, entity_type, row_index, natural_key_hash,
          raw_data, validation_status)
        values ('${tenantId}', ${anId}, '${workspaceId}', 'ad', 1, 'x', '{}', 'valid')`;
    case 'staging_id_resolution':
      return `insert into staging_id_resolution (tenant_id, upload_id, entity_type, external_id, production_id)
        values ('${tenantId}', ${anId}, 'ad', '1', ${anId})`;
    case 'daily_metrics':
      return `insert into daily_metrics (tenant_id, workspace_id, platform, metric_date, as_of, created_by_upload,
          last_upload)
        values ('${tenantId}', '${workspaceId}', 'meta', '2020-01-01', now(), ${anId}, ${anId})`;
    case 'period_metrics':
      return `insert into period_metrics (tenant_id, workspace_id, platform, date_from, date_to, as_of,
          created_by_upload, last_upload)
        values ('${tenantId}', '${workspaceId}', 'meta', '2020-01-01', '2020-01-31', now(), ${anId}, ${anId})`;
    case 'metric_breakdowns':
      return `insert into metric_breakdowns (tenant_id, workspace_id, platform, date_from, date_to, dimension_names,
          dimensions, dimensions_hash, as_of, created_by_upload, last_upload)
        values ('${tenantId}', '${workspaceId}', 'meta', '2020-01-01', '2020-01-01', '{}', '{}', '', now(), ${anId},
          ${anId})`;
    case 'staging_repeats':
      return `insert into staging_repeats (tenant_id, upload_id, row_index, head_row, part, occurrence)
        values ('${tenantId}', ${anId}, 1, 1, 'adds', 0)`;
    default:
      return `insert into ${table} (${entityColumns}) values (${entity})`;
  }
}

function statementFor(table: Table, right: Right): string {
  const where = `where tenant_id = '${place.tenantId}'`;
  if (right === 'insert') return insertInto(table);
  if (right === 'update') return `update ${table} set ${firstColumn[table]} = ${firstColumn[table]} ${where}`;
  // No row references facts. Referenced keys of entities are refused later, by another check.
  return `delete from ${table} ${where}`;
}

describe.each(Object.keys(mayWrite) as Role[])('%s', (role) => {
  const cases = tables.flatMap((table) =>
    production.map((right) => [right, table, mayWrite[role][table]?.includes(right) ?? false] as const),
  );

  test.each(cases)('may %s %s: %s', async (right, table, isAllowed) => {
    const code = await attempt(role, statementFor(table, right));
    // A parent with facts cannot be deleted, but that is a different refusal than a missing permission.
    if (isAllowed) expect([null, '23503']).toContain(code);
    else expect(code).toBe('42501');
  });

  const columnCases = Object.entries(columns).flatMap(([table, of]) =>
    Object.entries(of).map(([column, roles]) => [table, column, roles.includes(role)] as const),
  );

  test.each(columnCases)('may change %s.%s: %s', async (table, column, isAllowed) => {
    const code = await attempt(
      role,
      `update ${table} set ${column} = ${column} where tenant_id = '${place.tenantId}'`,
    );
    expect(code).toBe(isAllowed ? null : '42501');
  });
});

test('no role sees or writes a row of another tenant', async () => {
  const other = await uploads.place();
  const signed = { tenantId: other.tenantId, signature: await signatureFor(database, other.tenantId) };
  for (const role of Object.keys(mayWrite) as Role[]) {
    await client.query('begin');
    await enter(role, signed);
    const { rows } = await client.query('select from data_uploads');
    expect(rows).toHaveLength(0);
    await client.query('rollback');
  }
  await client.query('begin');
  await enter('sluice_promote', signed);
  await expect(client.query(insertInto('campaigns'))).rejects.toMatchObject({ code: '42501' });
  await client.query('rollback');
});

test('nobody can write without a role', async () => {
  await expect(client.query(insertInto('campaigns'))).rejects.toMatchObject({ code: '42501' });
  await expect(client.query('select from data_uploads')).rejects.toMatchObject({ code: '42501' });
});
