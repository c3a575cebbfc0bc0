import { expect, test } from 'vitest';
import { useItemServer } from '../support/servers/item-server.ts';
import type { TestClaims } from '../support/servers/server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const { held, server } = useItemServer(database);

const rules = { rules: [{ column: 'price', type: 'number', required: true }] };
const template = { processor: 'validate', options: rules, mapping: { Preis: 'price', Internal: null } };

async function ask(
  claims: TestClaims,
  path: string,
  { method = 'GET', body }: { method?: string; body?: object } = {},
) {
  const headers: Record<string, string> = await server.bearer(claims);
  if (body && !(body instanceof FormData)) headers['content-type'] = 'application/json';
  const sent = body instanceof FormData ? body : body && JSON.stringify(body);
  const answer = await fetch(`${server.url}${path}`, { method, headers, ...(sent ? { body: sent } : {}) });
  const text = await answer.text();
  return { status: answer.status, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> };
}

const save = (claims: TestClaims, name: string, body: object = template) =>
  ask(claims, `/api/items/templates/${encodeURIComponent(name)}`, { method: 'PUT', body });

function formOf(fields: [string, string | Blob][]): FormData {
  const form = new FormData();
  for (const [name, value] of fields) {
    if (typeof value === 'string') form.set(name, value);
    else form.set(name, value, 'prices.csv');
  }
  return form;
}

const file = new Blob(['sku;Preis;Internal\na;1.50;x\nb;free;y\n'], { type: 'text/csv' });

async function admin(): Promise<TestClaims & { tenantId: string }> {
  return { tenantId: await newTenant(database), role: 'admin' };
}

test('a job that names a template has its processor, options and mapping', async () => {
  const claims = await admin();
  expect((await save(claims, 'Monthly prices')).status).toBe(200);
  const form = formOf([
    ['template', 'Monthly prices'],
    ['file', file],
  ]);
  const made = await ask({ ...claims, role: 'member' }, '/api/jobs', { method: 'POST', body: form });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  await held.kernel.cycle({ budgetMs: 20_000, tenantId: claims.tenantId });
  const job = await ask(claims, `/api/jobs/${made.body.jobId}`);
  expect(job.body).toMatchObject({
    processor: 'validate',
    columns: ['sku', 'price'],
    mapping: template.mapping,
    counts: { DONE: 1, ERROR: 1 },
  });
});

test('what a request says itself comes before its template', async () => {
  const claims = await admin();
  await save(claims, 'prices');
  const own = formOf([
    ['template', 'prices'],
    ['options', '{"rules": [{"column": "sku", "required": true}]}'],
    ['mapping', '{"Preis": "cost"}'],
    ['file', file],
  ]);
  const tried = await ask(claims, '/api/jobs/preview', { method: 'POST', body: own });
  expect(tried.body).toMatchObject({
    columns: [{ name: 'sku' }, { name: 'cost' }, { name: 'Internal' }],
    rows: [{ status: 'DONE' }, { status: 'DONE' }],
  });
  const other = formOf([
    ['template', 'prices'],
    ['processor', 'noop'],
    ['file', file],
  ]);
  expect((await ask(claims, '/api/jobs/preview', { method: 'POST', body: other })).body).toMatchObject({
    rows: [{ result: { price: '1.50' } }, { result: { price: 'free' } }],
  });
});

test('a template is replaced by its name, listed and deleted, and jobs stay', async () => {
  const claims = await admin();
  await save(claims, 'prices');
  await save(claims, 'prices', { processor: 'noop' });
  const { body } = await ask(claims, '/api/items/templates');
  expect(body.data).toMatchObject([{ name: 'prices', processor: 'noop', options: {}, mapping: null }]);
  const route = '/api/items/templates/prices';
  expect((await ask(claims, route, { method: 'DELETE' })).status).toBe(204);
  expect(await ask(claims, route, { method: 'DELETE' })).toMatchObject({
    status: 404,
    body: { code: 'template_not_found' },
  });
  const form = formOf([
    ['template', 'prices'],
    ['file', file],
  ]);
  expect((await ask(claims, '/api/jobs', { method: 'POST', body: form })).body.code).toBe(
    'template_not_found',
  );
});

test('what a job would be refused for is refused when the template is saved', async () => {
  const claims = await admin();
  const refused = async (name: string, body: object) => (await save(claims, name, body)).status;
  expect(await refused('a', { processor: 'no-such-processor' })).toBeGreaterThanOrEqual(400);
  expect(await refused('a', { processor: 'validate', options: { rules: 'none' } })).toBe(422);
  expect(await refused('a', { processor: 'noop', mapping: { a: '' } })).toBe(400);
  expect(await refused('../secrets', { processor: 'noop' })).toBe(400);
  expect((await save({ ...claims, role: 'member' }, 'a')).status).toBe(403);
  expect((await ask(claims, '/api/items/templates')).body.data).toEqual([]);
});

test('a template belongs to its tenant', async () => {
  const claims = await admin();
  const other = await admin();
  await save(claims, 'prices');
  expect((await ask(other, '/api/items/templates')).body.data).toEqual([]);
  expect((await ask(other, '/api/items/templates/prices', { method: 'DELETE' })).status).toBe(404);
  const form = formOf([
    ['template', 'prices'],
    ['file', file],
  ]);
  expect((await ask(other, '/api/jobs', { method: 'POST', body: form })).status).toBe(404);
  expect((await ask(claims, '/api/items/templates')).body.data).toHaveLength(1);
});

test('a template that comes after the file is refused', async () => {
  const claims = await admin();
  await save(claims, 'prices');
  const form = formOf([
    ['file', file],
    ['template', 'prices'],
  ]);
  expect((await ask(claims, '/api/jobs', { method: 'POST', body: form })).body).toMatchObject({
    code: 'form_invalid',
    errors: [{ pointer: '/template' }],
  });
});
