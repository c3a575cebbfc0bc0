import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createFiles } from '../../src/kernel/files/backends.ts';
import { createLoginLink, startSession } from '../../src/kernel/tenancy/sessions.ts';
import type { Role } from '../../src/kernel/tenancy/types.ts';
import type { TestClaims } from '../support/servers/server.ts';
import { uploadForm } from '../support/servers/upload-server.ts';
import type { TestDatabase } from '../support/worlds/database.ts';
import { openSession } from './own-session.ts';
import type { Ask, Product, Told } from './product.ts';
import { sourceOf } from './source-places.ts';

/** A marker in everything that belongs to the victim, as text and as the name of a secret. */
export const canary = 'canary-7391';
/** An Airbyte connection that is the victim's. */
export const victimsConnection = '7c1f6f0e-5d0a-4b57-9c55-0a4f4a0d5e11';
export const canaryShape = /canary.7391/i;

export interface Victim {
  tenantId: string;
  userId: string;
  claims(role?: Role): TestClaims;
  /** A real thing of the victim's by the path that names it, such as `/api/workspaces/:workspace_id`. */
  things: Map<string, string>;
}

interface Making {
  product: Product;
  database: TestDatabase;
  victim: Victim;
}

/**
 * How a thing is made, by the path that names it, in this order. A new kind of thing is one entry here; a route that
 * names something that is not made here fails the suite.
 */
const makers: Record<string, (making: Making) => Promise<string>> = {
  '/api/tenants/:tenant_id': async ({ victim }) => victim.tenantId,
  '/api/users/:user_id': async ({ product, victim }) => {
    const member = victim.claims('member');
    await product.ask(member, { path: '/api/me' });
    return member.userId ?? '';
  },
  '/api/workspaces/:workspace_id': async (making) => {
    const headers = { 'idempotency-key': canary };
    const body = { name: canary };
    return field(await asVictim(making, { path: '/api/workspaces', body, headers }), 'workspace_id');
  },
  '/api/api-keys/:key_id': async (making) =>
    field(
      await asVictim(making, { path: '/api/api-keys', body: { name: canary, role: 'member' } }),
      'key_id',
    ),
  '/api/me/sessions/:session_id': ({ product, victim }) => openSession(product, victim.claims(), canary),
  '/api/me/api-keys/:key_id': async (making) =>
    field(
      await asVictim(making, { path: '/api/api-keys', body: { name: `${canary}-own`, role: 'member' } }),
      'key_id',
    ),
  '/api/secrets/:name': async (making) => {
    const body = { value: canary, hosts: [`${canary}.example.com`] };
    await asVictim(making, { method: 'PUT', path: '/api/secrets/canary_7391', body });
    return 'canary_7391';
  },
  '/api/jobs/:job_id': (making) => itemJob(making),
  '/api/jobs/:job_id/items/:item_id': async (making) => firstItem(making),
  '/api/catalogs/:name': async (making) => {
    const body = new FormData();
    body.set('file', new Blob([`sku,brand,title\n${canary},${canary},${canary}\n`]), `${canary}.csv`);
    await asVictim(making, { method: 'PUT', path: `/api/catalogs/${canary}-catalog`, body });
    return `${canary}-catalog`;
  },
  '/api/uploads/platforms/:name': async (making) => {
    const body = { title: canary, aliases: { campaign_name: canary, spend: 'Paid' } };
    await asVictim(making, { method: 'PUT', path: '/api/uploads/platforms/canary_7391', body });
    return 'canary_7391';
  },
  // What is defined belongs to the installation; it has nothing of a tenant.
  '/api/tasks/:name': async () => 'canary_7391',
  '/api/uploads/sources/:source_id': ({ victim, ...making }) => {
    const workspaceId = victim.things.get('/api/workspaces/:workspace_id');
    return asVictim({ victim, ...making }, sourceOf(canary, workspaceId)).then((told) =>
      field(told, 'source_id'),
    );
  },
  '/api/dead-letters/:job_id': async (making) => {
    const jobId = await itemJob(making);
    await making.database.owner(
      `update ingestion_jobs
          set status = 'dead_letter', finished_at = now(), error_code = $2, error_message = $2
        where job_id = $1`,
      [jobId, canary],
    );
    return jobId;
  },
  '/api/uploads/:upload_id': async (making) => {
    await upload(making, { review: 'true' });
    await upload(making, {}, rangeReport);
    return upload(making, {});
  },
  '/api/connectors/:connector_id': async (making) => {
    const account = { airbyte_connection_id: victimsConnection, external_account_id: canary };
    const body = { connector_id: `${canary}-connector`, name: canary, ...account };
    return field(await asVictim(making, { path: '/api/connectors', body }), 'connector_id');
  },
  '/api/items/templates/:name': async (making) => {
    const body = { processor: 'noop', mapping: { [canary]: canary } };
    await asVictim(making, { method: 'PUT', path: `/api/items/templates/${canary}`, body });
    return canary;
  },
  '/api/providers/:host': async (making) => {
    const host = `${canary}.example.com`.toLowerCase();
    await asVictim(making, { method: 'PUT', path: `/api/providers/${host}`, body: { daily_budget: 7 } });
    return host;
  },
  '/api/airbyte-servers/:server': async (making) => {
    const body = {
      base_url: `https://${canary}.example.com/v1`,
      auth: 'client',
      identity: canary,
      secret: canary,
    };
    await asVictim(making, { method: 'PUT', path: `/api/airbyte-servers/${canary}-server`, body });
    return `${canary}-server`;
  },
  '/api/syncs/:job_id': async (making) => {
    const path = `/api/connectors/${canary}-connector/sync`;
    return field(await asVictim(making, { path, body: { correlation_id: canary } }), 'job_id');
  },
  '/api/knowledge/:kb_id': knowledgeBase,
  '/v1/vector_stores/:vector_store_id': async () => victimsKb,
  '/api/knowledge/:kb_id/sources/:source_id': (making) => lastOf(making, 'sources', 'source_id'),
  '/api/knowledge/:kb_id/documents/:document_id': (making) => lastOf(making, 'documents', 'document_id'),
  '/api/ingestion/jobs/:id': async () => victimsKb,
  '/api/scraping/sources/:source': scrapeSource,
  '/api/scraping/:source': async () => victimsSource,
  '/api/scraping/:source/runs/:scrape_run_id': scrapeRun,
  '/api/ingestion/adapters/:name': async (making) => {
    const place = { kind: 'ftp', host: `${canary}.example.com`, path: `/${canary}`, password_secret: canary };
    const body = { ...place, target: { kind: 'items' }, pattern: `${canary}*` };
    await asVictim(making, { method: 'PUT', path: `/api/ingestion/adapters/${canary}-adapter`, body });
    return `${canary}-adapter`;
  },
  '/api/ingestion/adapters/:name/files/:file_id': adapterFile,
  '/api/webhooks/:webhook_id': async (making) => {
    const body = { url: `https://example.com/${canary}`, description: canary };
    await asVictim(making, { path: '/api/webhooks', body });
    return field(await asVictim(making, { path: '/api/webhooks', body }), 'webhook_id');
  },
  '/api/webhook-deliveries/:delivery_id': async (making) => {
    const path = `/api/webhooks/${making.victim.things.get('/api/webhooks/:webhook_id')}/test`;
    await asVictim(making, { path });
    return field(await asVictim(making, { path }), 'delivery_id');
  },
};

/** What no path names, but what the victim has as well. */
async function makeTheRest({ product, database, victim }: Making): Promise<void> {
  const { tenantId, userId, things } = victim;
  const mapping = { [canary]: 'spend' };
  const saved = { method: 'PUT', path: '/api/uploads/mappings', body: { platform: 'meta', mapping } };
  await asVictim({ product, database, victim }, saved);
  const subject = { tenantId, userId, role: 'admin' } as const;
  await startSession(database.db, await createLoginLink(database.db, subject));
  await createLoginLink(database.db, subject);
  await database.owner(
    `insert into circuit_breakers (dependency, tenant_id, state, reason) values ($2, $1, 'open', $2)`,
    [tenantId, canary],
  );
  await database.owner(
    `insert into upload_corrections
       (tenant_id, upload_id, row_index, column_index, header, old_value, new_value, user_id)
     values ($1, gen_random_uuid(), 1, 1, $2, $2, $2, $2)`,
    [tenantId, canary],
  );
  await database.owner(
    `insert into upload_source_contents
       (tenant_id, source_id, path, size_bytes, version, sha256, job_id, reason)
     values ($1, $2, $3, 1, $3, $3, gen_random_uuid(), $3)`,
    [tenantId, things.get('/api/uploads/sources/:source_id'), canary],
  );
  await database.owner('insert into bi_logins (tenant_id, role_name) values ($1, $2)', [tenantId, canary]);
  await database.owner(
    `insert into dropped_files (tenant_id, path, size_bytes, modified_at, error_text)
     values ($1, $2, 1, now(), $2)`,
    [tenantId, canary],
  );
  await database.owner(
    `insert into item_corrections (tenant_id, job_id, item_id, row_no, column_name, new_value, user_id)
     values ($1, $2, $3, 1, $4, '1', $5)`,
    [
      tenantId,
      things.get('/api/jobs/:job_id'),
      things.get('/api/jobs/:job_id/items/:item_id'),
      canary,
      userId,
    ],
  );
  await database.owner(
    `insert into search_events (tenant_id, job_id, item_ids, provider, strategy, outcome, error, took_ms, user_id)
     values ($1, $2, array[$3::bigint], $4, $4, 'error', $4, 1, $5)`,
    [
      tenantId,
      things.get('/api/jobs/:job_id'),
      things.get('/api/jobs/:job_id/items/:item_id'),
      canary,
      userId,
    ],
  );
}

/** A tenant with at least one of everything. */
export async function makeVictim(product: Product, database: TestDatabase): Promise<Victim> {
  const tenantId = `${canary}-tenant`;
  const userId = `${canary}-user`;
  const victim: Victim = {
    tenantId,
    userId,
    claims: (role = 'admin') => ({
      tenantId,
      role,
      // Each role is a user of its own: a role belongs to its user.
      userId: role === 'admin' ? userId : `${userId}-${role}`,
      name: canary,
      email: `${canary}@example.com`,
    }),
    things: new Map(),
  };
  const making = { product, database, victim };
  await asVictim(making, { method: 'GET', path: '/api/me' });
  for (const [path, make] of Object.entries(makers)) victim.things.set(path, await make(making));
  await makeTheRest(making);
  return victim;
}

async function asVictim({ product, victim }: Making, ask: Ask): Promise<Told> {
  const told = await product.ask(victim.claims(), { method: 'POST', ...ask });
  if (told.status < 300) return told;
  throw new Error(`The victim's ${ask.path} was answered with ${told.status}: ${told.text}`);
}

async function itemJob(making: Making): Promise<string> {
  const form = new FormData();
  form.set('processor', 'noop');
  form.set('file', new Blob([`sku,title\n1,${canary}\n2,${canary}\n`]), `${canary}.csv`);
  return field(await asVictim(making, { path: '/api/jobs', body: form }), 'jobId');
}

async function firstItem(making: Making): Promise<string> {
  const path = `/api/jobs/${making.victim.things.get('/api/jobs/:job_id')}/items`;
  const { body } = await asVictim(making, { method: 'GET', path });
  const [first] = body.data as { id: string }[];
  for (const kind of ['original', 'thumbnail']) await addImage(making, kind);
  return String(first?.id);
}

/** Rows have no images: this one is given some, so that what belongs to images is there to be reached for. */
async function addImage({ product, database, victim }: Making, kind: string): Promise<void> {
  const files = createFiles({ filesBackend: 'local', dataDir: join(product.directory, 'files') });
  const stored = await files.store(Readable.from([canary]), { maxBytes: 100 });
  await database.owner(
    `with made as (
       insert into files (tenant_id, file_id, name, media_type, size_bytes, sha256, storage, storage_key, created_by)
       values ($1, gen_random_uuid(), $2, 'image/webp', $3, $4, 'local', $5, $2)
       returning tenant_id, file_id)
     insert into item_images (tenant_id, job_id, row_no, kind, file_id)
     select tenant_id, $6, 1, $7, file_id from made`,
    [
      victim.tenantId,
      `${canary}.webp`,
      stored.sizeBytes,
      stored.sha256,
      stored.storageKey,
      victim.things.get('/api/jobs/:job_id'),
      kind,
    ],
  );
}

const header = 'Campaign name,Campaign ID,Ad set name,Ad set ID,Ad name,Ad ID,Day,Clicks,Amount spent (USD)';

const adRow = (spend: string) => `${canary},1,${canary},2,${canary},3,2026-03-01,7,${spend}`;
const dayReport = `${header}\n${adRow('1.50')}\n${adRow('abc')}\n`;
/** A range, broken down by age: rows of a key that are added up. */
const rangeReport =
  'Reporting starts,Reporting ends,Campaign name,Age,Amount spent (USD)\n' +
  `2026-03-01,2026-03-31,${canary},18-24,1\n2026-03-01,2026-03-31,${canary},25-34,2\n`;

/** A report with a good and a bad row; without review it is promoted. */
async function upload(making: Making, fields: Record<string, string>, content = dayReport): Promise<string> {
  const form = uploadForm(
    content,
    {
      workspace_id: making.victim.things.get('/api/workspaces/:workspace_id') ?? '',
      force_partial: 'true',
      ...fields,
    },
    `${canary}.csv`,
  );
  const uploadId = field(await asVictim(making, { path: '/api/uploads', body: form }), 'upload_id');
  // One upload after the other, and only the uploads: items are to be open, done and dead.
  const [row0] = await making.database.owner<{ job_id: string }>(
    'select job_id from data_uploads where upload_id = $1',
    [uploadId],
  );
  const drive = `/api/jobs/${row0?.job_id}/kickoff?durationMs=60000`;
  await asVictim(making, { path: drive });
  return uploadId;
}

export const victimsKb = `${canary}-kb`;
const victimsSource = `${canary}-source`;

/** With a text and a file that a run has indexed. */
async function knowledgeBase(making: Making): Promise<string> {
  const sources = [{ type: 'markdown', content: `# ${canary}\n\nThe text of ${canary}.`, title: canary }];
  await asVictim(making, { path: '/api/knowledge', body: { kb_id: victimsKb, name: canary, sources } });
  const form = new FormData();
  form.set('file', new Blob([`# File of ${canary}\n\nMore about ${canary}.`]), `${canary}.md`);
  await asVictim(making, { path: `/api/knowledge/${victimsKb}/documents`, body: form });
  await making.database.owner(
    `insert into knowledge_labels (tenant_id, kb_id, source_id, uri_key, metadata)
     values ($1, $2, gen_random_uuid(), '\\x00', jsonb_build_object('word', $3::text))`,
    [making.victim.tenantId, victimsKb, canary],
  );
  await making.database.owner(
    `insert into knowledge_evaluations (tenant_id, kb_id, evaluation_id, generation, mode, k, scores, questions)
     values ($1, $2, gen_random_uuid(), 1, 'text', 1, '{"questions": 1, "recall": 0, "ndcg": 0, "mrr": 0}',
             jsonb_build_array(jsonb_build_object('query', $3::text)))`,
    [making.victim.tenantId, victimsKb, canary],
  );
  const started = await asVictim(making, { path: `/api/ingestion/jobs/${victimsKb}/start` });
  const jobId = field(started, 'job_id');
  await asVictim(making, { path: `/api/jobs/${jobId}/kickoff?durationMs=60000` });
  await making.database.owner(
    `insert into knowledge_frontier (tenant_id, job_id, source_id, url, url_key, depth)
     values ($1, $2, gen_random_uuid(), $3::text, sha256(convert_to($3::text, 'UTF8')), 0)`,
    [making.victim.tenantId, jobId, canary],
  );
  // Runs of this size leave their counts among the changes.
  await making.database.owner(
    `insert into knowledge_words (tenant_id, kb_id, generation, word, passages) values ($1, $2, 1, $3, 1)`,
    [making.victim.tenantId, victimsKb, canary],
  );
  return victimsKb;
}

/** The files are the first source, and cannot be deleted. */
async function lastOf(making: Making, list: string, name: string): Promise<string> {
  const { body } = await asVictim(making, { method: 'GET', path: `/api/knowledge/${victimsKb}/${list}` });
  const last = (body.data as Record<string, unknown>[]).at(-1);
  return String(last?.[name]);
}

async function scrapeSource(making: Making): Promise<string> {
  const body = { mode: 'push', kb_id: victimsKb };
  await asVictim(making, { method: 'PUT', path: `/api/scraping/sources/${victimsSource}`, body });
  return victimsSource;
}

/** A failed one, and another one for the second page. */
async function adapterFile(making: Making): Promise<string> {
  const rows = await making.database.owner<{ id: string }>(
    `insert into adapter_files
       (tenant_id, file_id, adapter, path, size_bytes, version, state, reason_code, reason, finished_at)
     select $1, gen_random_uuid(), $2 || '-adapter', $2 || n, 1, $2, 'failed', $2, $2, now()
       from generate_series(1, 2) n
     returning file_id as id`,
    [making.victim.tenantId, canary],
  );
  return rows[0]?.id ?? '';
}

/** With references, hand-offs, and a page that a crawl has heard of. */
async function scrapeRun(making: Making): Promise<string> {
  const references = ['one', 'two'].map((name) => ({
    external_id: `${canary}-${name}`,
    url: `https://example.com/${canary}-${name}`,
    title: canary,
    content: `The content of ${canary}.`,
    metadata: { of: canary },
  }));
  const path = `/api/scraping/${victimsSource}/sync`;
  await asVictim(making, { path, body: { references: [] } });
  const runId = field(await asVictim(making, { path, body: { references } }), 'scrape_run_id');
  await making.database.owner(
    `insert into scrape_frontier (tenant_id, job_id, url, url_key, depth)
     values ($1, gen_random_uuid(), $2::text, sha256(convert_to($2::text, 'UTF8')), 0)`,
    [making.victim.tenantId, canary],
  );
  return runId;
}

function field(told: Told, name: string): string {
  const value = told.body[name];
  if (typeof value === 'string' && value !== '') return value;
  throw new Error(`An answer has no ${name}: ${told.text}`);
}
