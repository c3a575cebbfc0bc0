import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { serveSite } from '../support/fakes/local-site.ts';
import type { TestClaims } from '../support/servers/server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { useProduct } from './product.ts';

// Knowledge reads what tenants name: addresses, folders, secrets. None of them leads where it must not.
const database = useDatabase();
const product = useProduct(database, (directory) => ({
  KNOWLEDGE_FOLDER_ROOT: path.join(directory, 'shared'),
}));

type Claims = TestClaims & { tenantId: string };

async function admin(): Promise<Claims> {
  return { tenantId: await newTenant(database), role: 'admin' };
}

/** Creates a knowledge base, runs it to its end, and returns its status and documents. */
async function runOf(claims: Claims, body: object) {
  const asked = { method: 'POST', path: '/api/knowledge', body: { kb_id: 'kb', name: 'One', ...body } };
  const made = await product.ask(claims, asked);
  expect(made.status, made.text).toBe(201);
  const started = await product.ask(claims, { method: 'POST', path: '/api/ingestion/jobs/kb/start' });
  const drive = `/api/jobs/${started.body.job_id}/kickoff?durationMs=60000`;
  await product.ask(claims, { method: 'POST', path: drive });
  const { body: status, text } = await product.ask(claims, { path: '/api/ingestion/jobs/kb/status' });
  const { body: documents } = await product.ask(claims, { path: '/api/knowledge/kb/documents' });
  return { status, text, documents: documents.data as Record<string, unknown>[] };
}

/** A private service of this machine, and how often it was reached. */
async function privateService() {
  const calls: string[] = [];
  const { port } = await serveSite('127.0.0.1', (request, response) => {
    calls.push(String(request.url));
    response.end('<h1>Inside</h1><p>The password of the database is hunter2.</p>');
  });
  return { calls, port };
}

describe('an address of this machine', () => {
  test.each(['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '0x7f.1'])(
    'is not crawled as %s',
    async (host) => {
      const service = await privateService();
      const url = `http://${host}:${service.port}/`;
      const run = await runOf(await admin(), { sources: [{ type: 'website', url }] });
      expect(service.calls).toEqual([]);
      expect(run.documents.every(({ state }) => state === 'error')).toBe(true);
      const reasons = JSON.stringify([run.status.incomplete_sources, run.status.last_error, run.documents]);
      expect(reasons).toMatch(/private|not allowed|address/i);
    },
  );

  test('is not called for vectors either, and the run reports why', async () => {
    const service = await privateService();
    const embedder = {
      provider: 'openai',
      base_url: `http://127.0.0.1:${service.port}/v1`,
      model: 'm',
      dimensions: 4,
    };
    const run = await runOf(await admin(), { embedder, sources: [{ type: 'text', content: 'A text.' }] });
    expect(service.calls).toEqual([]);
    expect(run.status.status).not.toBe('completed');
    expect(String(run.status.last_error)).toMatch(/private|address/i);
  });
});

/** The tenant's folder below the root, with a document and links that lead out of it. */
function furnish({ tenantId }: Claims): void {
  const home = path.join(product.directory, 'shared', tenantId);
  mkdirSync(path.join(home, 'docs'), { recursive: true });
  writeFileSync(path.join(home, 'docs/open.md'), '# Open\n\nEverybody of the tenant may read this.');
  symlinkSync(path.join(product.directory, 'secret.md'), path.join(home, 'docs/link.md'));
  symlinkSync(product.directory, path.join(home, 'outside'));
}

test('neither a folder nor a link in it leads outside the tenant’s folder', async () => {
  writeFileSync(path.join(product.directory, 'secret.md'), '# Secret\n\nNobody may read this.');
  const victim = await admin();
  furnish(victim);
  const foreign = [`../${victim.tenantId}`, `../${victim.tenantId}/docs`, `${victim.tenantId}/docs`];
  for (const folder of ['../', 'docs/../..', 'outside', path.join(product.directory), ...foreign]) {
    const claims = await admin();
    furnish(claims);
    const { documents, text } = await runOf(claims, { sources: [{ type: 'folder', path: folder }] });
    expect({ folder, documents }).toEqual({ folder, documents: [] });
    // Where the root lies is the operator's business.
    expect(text.replaceAll(folder, '')).not.toContain(product.directory);
  }
  const { documents } = await runOf(victim, { sources: [{ type: 'folder', path: 'docs' }] });
  const states = documents.map(({ uri, state }) => `${uri} ${state}`).sort();
  expect(states).toEqual(['file:link.md error', 'file:open.md indexed']);
});

test('a secret is visible only to its own tenant, and its value to nobody', async () => {
  const owner = await admin();
  const value = 'the value of the secret';
  const secret = { value, hosts: ['api.openai.com'] };
  await product.ask(owner, { method: 'PUT', path: '/api/secrets/shared_name', body: secret });
  const embedder = { provider: 'openai', model: 'm', dimensions: 4, api_key_secret: 'shared_name' };
  const body = { embedder, sources: [{ type: 'text', content: 'A text.' }] };
  const stranger = await runOf(await admin(), {
    ...body,
    embedder: { ...embedder, base_url: 'http://127.0.0.1:1' },
  });
  // More people read the state of a run than may use its secret: it does not name it.
  expect(String(stranger.status.last_error)).toMatch(/no secret/i);
  expect(stranger.text).not.toContain('shared_name');
  const { text } = await product.ask(owner, {
    method: 'POST',
    path: '/api/knowledge',
    body: { name: 'X', ...body },
  });
  expect(text).toContain('shared_name');
  expect(text + stranger.text).not.toContain(value);
});
