import { expect, test } from 'vitest';
import { newTenant, useDatabase } from '../../../test/support/worlds/database.ts';
import { newId } from '../../lib/ids.ts';
import { migrateDown, migrateUp, readMigrations } from '../../lib/postgres/migrate.ts';

const database = useDatabase();
const now = new Date().toISOString();
const made = { created_at: now, updated_at: now };

function insert(tenantId: string, table: string, row: object): Promise<object[]> {
  return database.owner(`insert into ${table} select * from jsonb_populate_record(null::${table}, $1)`, [
    JSON.stringify({ tenant_id: tenantId, ...made, ...row }),
  ]);
}

async function addPeople(tenantId: string): Promise<{ keyId: string }> {
  for (const role of ['admin', 'member']) {
    await insert(tenantId, 'users', { user_id: `user-${role}`, role, last_seen_at: now });
  }
  const keyId = newId();
  const key = { name: 'k', role: 'service', key_hash: '\\x00', key_hint: 'k', created_by: 'u' };
  await insert(tenantId, 'api_keys', { key_id: keyId, ...key });
  return { keyId };
}

async function addBase(tenantId: string): Promise<void> {
  const baseUrl = 'https://LLM.example.com:8443/v1';
  const embedder = { provider: 'openai', baseUrl, apiKeySecret: 'by_base' };
  const state = { chunker: {}, generation: 0, next_generation: 1, created_by: 'u' };
  await insert(tenantId, 'knowledge_bases', { kb_id: 'kb', name: 'kb', embedder, ...state });
}

function optionsOf(secret: string, url: string): object {
  const strategies = [{ name: 'a', url: 'http://second.example.com/{{sku}}' }];
  return { request: { url }, strategies, auth: { type: 'bearer', secret } };
}

async function addAdapters(tenantId: string): Promise<void> {
  const keys = (name: string) => ({
    accessKeyIdSecret: name,
    secretAccessKeySecret: name,
    bucket: 'reports',
  });
  const endpoint = 'https://s3.example.com';
  const places = {
    one: { kind: 's3', endpoint, pathStyle: false, region: 'r', ...keys('by_s3') },
    two: { kind: 's3', endpoint: null, pathStyle: true, region: 'eu-west-1', ...keys('by_aws') },
    three: { kind: 'ftp', host: 'ftp.example.com', port: 2121, passwordSecret: 'by_ftp' },
    four: { kind: 'folder', path: '' },
  };
  for (const [name, place] of Object.entries(places)) {
    const options = name === 'four' ? optionsOf('by_adapter_job', 'https://jobs.example.com/') : {};
    const target = { kind: 'items', processor: null, options };
    const state = { after: 'leave', settle_seconds: 1, failures_in_row: 0, created_by: 'u' };
    await insert(tenantId, 'adapters', { name, kind: place.kind, place, target, ...state });
  }
}

async function addJob(tenantId: string, { userId, secret }: { userId: string; secret: string }) {
  const jobId = newId();
  await database.owner(
    `insert into ingestion_jobs (tenant_id, job_id, pipeline, subject_id, max_retries, created_by, correlation_id)
     values ($1, $2::uuid, 'items', $2::text, 0, 'u', $2::text)`,
    [tenantId, jobId],
  );
  await database.owner(
    `insert into item_jobs (tenant_id, job_id, job_type, processor, user_id, options)
     values ($1, $2, 'csv', 'http', $3, $4)`,
    [tenantId, jobId, userId, JSON.stringify(optionsOf(secret, `https://${secret}.example.com/`))],
  );
}

test('secrets from before are bound to where they are sent now, except by jobs of members', async () => {
  const tenantId = await newTenant(database);
  const migration = (await readMigrations()).find(({ name }) => name === 'secret_bindings');
  await migrateDown(database.ownerUrl, { to: (migration?.version ?? 0) - 1 });
  const byHouses = ['by_base', 'by_s3', 'by_aws', 'by_ftp', 'by_adapter_job'];
  for (const name of [...byHouses, 'by_admin', 'by_key', 'by_member', 'unused']) {
    await insert(tenantId, 'tenant_secrets', { name, encrypted: 'x', updated_by: 'u' });
  }
  const { keyId } = await addPeople(tenantId);
  await addBase(tenantId);
  await addAdapters(tenantId);
  await addJob(tenantId, { secret: 'by_admin', userId: 'user-admin' });
  await addJob(tenantId, { secret: 'by_key', userId: `api_key:${keyId}` });
  await addJob(tenantId, { secret: 'by_member', userId: 'user-member' });

  await migrateUp(database.ownerUrl);
  const rows = await database.owner<{ name: string; hosts: string[] }>(
    'select name, hosts from tenant_secrets where tenant_id = $1',
    [tenantId],
  );
  expect(Object.fromEntries(rows.map(({ name, hosts }) => [name, hosts]))).toEqual({
    by_adapter_job: ['jobs.example.com', 'second.example.com'],
    by_admin: ['by_admin.example.com', 'second.example.com'],
    by_aws: ['s3.eu-west-1.amazonaws.com'],
    by_base: ['llm.example.com:8443'],
    by_ftp: ['ftp.example.com:2121'],
    by_key: ['by_key.example.com', 'second.example.com'],
    by_member: [],
    by_s3: ['reports.s3.example.com'],
    unused: [],
  });
  const roles = await database.owner(
    'select user_role from item_jobs where tenant_id = $1 order by user_role',
    [tenantId],
  );
  expect(roles).toEqual([{ user_role: 'admin' }, { user_role: 'member' }, { user_role: 'service' }]);
});
