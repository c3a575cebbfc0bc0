import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { metaAustralian } from '../generators/ad-reports/meta-reports.ts';
import { tiktokCsv } from '../generators/ad-reports/tiktok-reports.ts';
import { airbyteTroubles } from '../support/fakes/fake-airbyte-troubles.ts';
import type { TestClaims } from '../support/servers/server.ts';
import { uploadForm } from '../support/servers/upload-server.ts';
import { eventually } from '../support/worlds/kernel.ts';
import type { ConsoleServer } from './console-server.ts';

/** At least one thing for every screen, by the id in its address. */
export interface Seeded {
  tenantId: string;
  itemsJob: string;
  /** Its rows wait for a provider that does not respond. */
  waitingJob: string;
  goodUpload: string;
  badUpload: string;
  heldUpload: string;
  kbId: string;
  source: string;
  connectorId: string;
  adapter: string;
  deadLetter: string;
  /** It gets events, and refuses some of them. */
  webhookId: string;
  close(): Promise<void>;
}

type Body = Record<string, unknown>;
interface Seeding {
  server: ConsoleServer;
  tenantId: string;
}

const patienceMs = 120_000;

/** Through the HTTP API only, as people's programs do, and until the worker has done what can be done. */
export async function seed(server: ConsoleServer, tenantId: string): Promise<Seeded> {
  const seeding = { server, tenantId };
  await seedPeople(seeding);
  const provider = await startProvider();
  const webhookId = await seedWebhooks(seeding, provider.url);
  await seedCatalog(seeding);
  const itemsJob = await seedItems(seeding, { url: `${provider.url}/articles`, name: 'catalogue-march.csv' });
  await untilStatus(seeding, `/api/jobs/${itemsJob}`, ['success']);
  const uploads = await seedUploads(seeding);
  const knowledge = await seedKnowledge(seeding);
  const connectors = await seedConnectors(seeding);
  const adapter = await seedAdapters(seeding);
  const waitingJob = await seedItems(seeding, { url: `${provider.url}/silent`, name: 'catalogue-april.csv' });
  const ids = { ...uploads, ...knowledge, ...connectors };
  return { tenantId, itemsJob, waitingJob, webhookId, adapter, ...ids, close: provider.close };
}

async function seedPeople(seeding: Seeding): Promise<void> {
  for (const [userId, role, name] of [
    ['ada', 'admin', 'Ada Lovelace'],
    ['bob', 'member', 'Bob Kahn'],
    ['eve', 'support', 'Evelyn Berezin'],
  ] as const) {
    await call(seeding, 'GET', '/api/me', undefined, { role, userId, name, email: `${userId}@example.com` });
  }
  // People look at the screenshots: a tenant has a name.
  await call(
    seeding,
    'PATCH',
    `/api/tenants/${seeding.tenantId}`,
    { name: 'Northwind Traders' },
    { role: 'operator' },
  );
  await call(seeding, 'POST', '/api/workspaces', { name: 'Northwind' });
  await call(seeding, 'POST', '/api/api-keys', { name: 'Nightly export', role: 'service' });
  await call(seeding, 'POST', '/api/api-keys', { name: 'Dashboard', role: 'member' });
  await call(seeding, 'PUT', '/api/secrets/catalog_key', {
    value: 'a secret of the seed',
    hosts: ['api.example.com', '127.0.0.1'],
  });
}

async function seedWebhooks(seeding: Seeding, providerUrl: string): Promise<string> {
  const endpoints = [
    { url: `${providerUrl}/hooks`, event_types: ['job.*', 'upload.*'], description: 'Data warehouse' },
    { url: `${providerUrl}/broken`, event_types: ['upload.completed'], description: 'Old dashboard' },
  ];
  const made: string[] = [];
  for (const endpoint of endpoints) {
    made.push(String((await call(seeding, 'POST', '/api/webhooks', endpoint)).webhook_id));
  }
  return made[0] ?? '';
}

const articles = Array.from({ length: 240 }, (_, at) => `${1000 + at},Article ${at},${at}.50`);

async function seedItems(seeding: Seeding, { url, name }: { url: string; name: string }): Promise<string> {
  const form = new FormData();
  form.set('processor', 'http');
  form.set('options', JSON.stringify({ request: { url: `${url}/{{sku}}` }, timeoutMs: 120_000 }));
  form.set('file', new Blob([['sku,title,price', ...articles].join('\n')]), name);
  return String((await call(seeding, 'POST', '/api/jobs', form)).jobId);
}

async function seedCatalog(seeding: Seeding): Promise<void> {
  const form = new FormData();
  const rows = articles.map((article) => `${article},Northwind,A${article.length}`);
  form.set('file', new Blob([['sku,title,price,brand,shelf', ...rows].join('\n')]), 'articles-2026.csv');
  await call(seeding, 'PUT', '/api/catalogs/articles', form);
}

/** One that has found good and bad files, and one whose server is not there. */
async function seedAdapters(seeding: Seeding): Promise<string> {
  const folder = path.join(seeding.server.folders, seeding.tenantId, 'orders');
  await mkdir(folder, { recursive: true });
  for (const [name, text] of [
    ['orders-2026-03-01.csv', ['sku,title,price', ...articles.slice(0, 20)].join('\n')],
    ['orders-2026-03-01 (copy).csv', ['sku,title,price', ...articles.slice(0, 20)].join('\n')],
    ['orders-2026-03-02.csv', ['sku,title,price', ...articles.slice(20, 60)].join('\n')],
    ['orders-2026-03-03.csv', 'sku,title,price\n1,"never closed\n'],
  ] as const) {
    await writeFile(path.join(folder, name), text);
  }
  const shared = { target: { kind: 'items' }, pattern: '*.csv', settle_seconds: 0 };
  const base = '/api/ingestion/adapters';
  await call(seeding, 'PUT', `${base}/orders`, { ...shared, kind: 'folder', path: 'orders', after: 'move' });
  const ftp = {
    kind: 'ftp',
    host: '127.0.0.1',
    port: 1_025,
    path: '/outgoing',
    password_secret: 'catalog_key',
  };
  await call(seeding, 'PUT', `${base}/warehouse`, { ...shared, ...ftp, every_minutes: 60 });
  await call(seeding, 'POST', '/api/ingestion/scan', {});
  return 'orders';
}

async function seedUploads(seeding: Seeding) {
  const { data } = await call(seeding, 'GET', '/api/workspaces');
  const workspaceId = (data as { workspace_id: string }[])[0]?.workspace_id ?? '';
  const send = async (form: FormData, ends: string[]) => {
    const uploadId = String((await call(seeding, 'POST', '/api/uploads', form)).upload_id);
    await untilStatus(seeding, `/api/uploads/${uploadId}`, ends);
    return uploadId;
  };
  const meta = metaAustralian({ seed: 3, rows: 400 });
  const tiktok = tiktokCsv({ seed: 4, rows: 120 });
  const fields = { workspace_id: workspaceId };
  const goodUpload = await send(uploadForm(meta.bytes, fields, meta.filename), ['completed', 'partial']);
  const badUpload = await send(uploadForm('Name,Height\nAda,1.70\n', fields, 'people.csv'), ['failed']);
  const held = { ...fields, platform: 'tiktok', review: 'true' } as const;
  const heldUpload = await send(uploadForm(tiktok.bytes, held, tiktok.filename), ['staging_complete']);
  return { goodUpload, badUpload, heldUpload };
}

async function seedKnowledge(seeding: Seeding) {
  const kbId = 'handbook';
  const sources = [{ type: 'markdown', title: 'Returns', content: handbook }];
  await call(seeding, 'POST', '/api/knowledge', { kb_id: kbId, name: 'Handbook', sources });
  const form = new FormData();
  form.set(
    'file',
    new Blob(['# Shipping\n\nParcels leave the warehouse at four every afternoon.\n']),
    'shipping.md',
  );
  await call(seeding, 'POST', `/api/knowledge/${kbId}/documents`, form);
  await call(seeding, 'POST', `/api/ingestion/jobs/${kbId}/start`, {});
  await untilStatus(seeding, `/api/ingestion/jobs/${kbId}/status`, ['success', 'completed', 'done']);
  const source = 'help-centre';
  await call(seeding, 'PUT', `/api/scraping/sources/${source}`, { mode: 'push', kb_id: kbId });
  const references = ['Sizes', 'Payment', 'Gift cards'].map((title, at) => ({
    external_id: `help-${at}`,
    url: `https://help.example.com/${at}`,
    title,
    content: `${title}: what people ask about it, and the answer to that.`,
  }));
  await call(seeding, 'POST', `/api/scraping/${source}/sync`, { references });
  return { kbId, source };
}

async function seedConnectors(seeding: Seeding) {
  const { airbyte } = seeding.server;
  const enrol = async (connectorId: string, name: string, airbyteConnectionId: string) => {
    const account = {
      airbyte_connection_id: airbyteConnectionId,
      external_account_id: `account-${connectorId}`,
    };
    await call(seeding, 'POST', '/api/connectors', { connector_id: connectorId, name, ...account });
    const job = await call(seeding, 'POST', `/api/connectors/${connectorId}/sync`, {});
    return String(job.job_id);
  };
  const good = airbyte.state.addConnection({ name: 'Shop to warehouse' });
  const broken = airbyte.state.addConnection({ name: 'Ledger to warehouse' });
  airbyte.trouble({ kind: 'trigger', connectionId: broken.connectionId }, airbyteTroubles.forbidden());
  const synced = await enrol('shop', 'Shop', good.connectionId);
  const deadLetter = await enrol('ledger', 'Ledger', broken.connectionId);
  await untilStatus(seeding, `/api/jobs/${synced}`, ['success']);
  await untilStatus(seeding, `/api/jobs/${deadLetter}`, ['dead_letter']);
  return { connectorId: 'shop', deadLetter };
}

async function untilStatus(seeding: Seeding, path: string, wanted: string[]): Promise<void> {
  let last: Body = {};
  const isThere = async () => {
    last = await call(seeding, 'GET', path);
    return wanted.includes(String(last.status));
  };
  await eventually(isThere, `${path} is ${wanted.join(' or ')}`, patienceMs).catch((error: unknown) => {
    throw new Error(`${(error as Error).message}; it is ${JSON.stringify(last)}`);
  });
}

async function call(
  { server, tenantId }: Seeding,
  method: string,
  path: string,
  body?: object | FormData,
  claims: Partial<TestClaims> = {},
): Promise<Body> {
  const headers: Record<string, string> = {
    authorization: `Bearer ${await server.token({ tenantId, name: 'Ada Lovelace', ...claims })}`,
  };
  const isForm = body instanceof FormData;
  if (body !== undefined && !isForm) headers['content-type'] = 'application/json';
  const sent = body === undefined || isForm ? body : JSON.stringify(body);
  const answer = await fetch(`${server.url}${path}`, {
    method,
    headers,
    ...(sent === undefined ? {} : { body: sent }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path} was answered with ${answer.status}: ${text}`);
  return text === '' ? {} : (JSON.parse(text) as Body);
}

/** Knows most articles, returns 404 for some, and never responds under /silent. */
async function startProvider(): Promise<{ url: string; close(): Promise<void> }> {
  const provider: Server = createServer((request, reply) => {
    const [, place, sku] = (request.url ?? '').split('/');
    if (place === 'silent') return;
    if (place === 'broken') {
      reply.writeHead(500).end('The dashboard is being rebuilt.');
      return;
    }
    const status = sku?.endsWith('7') ? 404 : sku?.endsWith('13') ? 422 : 200;
    reply.writeHead(status, { 'content-type': 'application/json' });
    reply.end(
      JSON.stringify(status === 200 ? { sku, brand: 'Northwind', stock: Number(sku) % 40 } : { sku }),
    );
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(provider.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        provider.close(() => resolve());
        provider.closeAllConnections();
      }),
  };
}

const handbook = `# Returns

## How long

Everything can be sent back within thirty days, unworn and with its label.

## Money back

The amount is returned to the card it came from, three days after the parcel has arrived.
`;
