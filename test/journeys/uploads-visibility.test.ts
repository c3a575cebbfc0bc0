import { beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import type { TestClaims } from '../support/servers/server.ts';
import { uploadForm, useUploads } from '../support/servers/upload-server.ts';
import { useDatabase } from '../support/worlds/database.ts';

// Who sees and controls whose uploads, and who sees their data.
const database = useDatabase();
const uploads = useUploads(database);

/** A marker in everything that belongs to the owner; nobody else may see it. */
const secret = 'tulip-7391';
const header = 'Campaign name,Campaign ID,Ad set name,Ad set ID,Ad name,Ad ID,Day,Clicks,Amount spent (USD)';
const row = (spend: string) => `${secret},1,Set,2,Ad,3,2026-03-01,7,${spend}`;

const persons = ['owner', 'colleague', 'admin', 'support', 'service', 'operator', 'stranger'] as const;
type Person = (typeof persons)[number];
let people: Record<Person, TestClaims>;
let workspaceId: string;

beforeAll(async () => {
  const own = await uploads.tenant();
  const { tenantId: strangersTenant } = await uploads.tenant();
  const { tenantId } = own;
  workspaceId = own.workspaceId;
  people = {
    owner: { tenantId, role: 'member', userId: 'user-o' },
    colleague: { tenantId, role: 'member', userId: 'user-c' },
    admin: { tenantId, role: 'admin', userId: 'user-a' },
    support: { tenantId, role: 'support', userId: 'user-s' },
    service: { tenantId, role: 'service', userId: 'user-v' },
    operator: { tenantId, role: 'operator', userId: 'user-p' },
    // With the same user id: the tenant must decide.
    stranger: { tenantId: strangersTenant, role: 'admin', userId: 'user-o' },
  };
});

const reading = {
  owner: 200,
  colleague: 404,
  admin: 200,
  support: 200,
  service: 200,
  operator: 200,
  stranger: 404,
};
const steering = (ok: number) => ({
  ...reading,
  owner: ok,
  admin: ok,
  support: 403,
  service: ok,
  operator: ok,
});

interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** As openapi.json names it. */
  path: string;
  query?: string;
  body?: object;
  expected: Record<Person, number>;
  /** In which state the upload has to be for the route to work. */
  state: 'done' | 'held';
}

const one = '/api/uploads/{upload_id}';
const routes: Route[] = [
  { method: 'GET', path: one, expected: reading, state: 'done' },
  { method: 'GET', path: `${one}/rows`, expected: reading, state: 'done' },
  {
    method: 'GET',
    path: `${one}/rows`,
    query: '?validation_status=invalid',
    expected: reading,
    state: 'done',
  },
  { method: 'GET', path: `${one}/rejected.csv`, expected: reading, state: 'done' },
  { method: 'GET', path: `${one}/preview`, expected: reading, state: 'held' },
  { method: 'GET', path: `${one}/problems`, expected: reading, state: 'done' },
  { method: 'GET', path: `${one}/reconciliation`, expected: reading, state: 'done' },
  { method: 'GET', path: `${one}/undo`, expected: reading, state: 'done' },
  {
    method: 'PUT',
    path: `${one}/mapping`,
    body: { mapping: { Clicks: null } },
    expected: steering(202),
    state: 'held',
  },
  { method: 'GET', path: `${one}/corrections`, expected: reading, state: 'done' },
  { method: 'GET', path: `${one}/corrections.csv`, expected: reading, state: 'done' },
  {
    method: 'POST',
    path: `${one}/corrections`,
    body: { rows: [{ row_index: 1, cells: { 'Amount spent (USD)': '1.75' } }] },
    expected: steering(202),
    state: 'held',
  },
  { method: 'DELETE', path: `${one}/corrections`, expected: steering(202), state: 'held' },
  { method: 'POST', path: `${one}/undo`, expected: steering(200), state: 'done' },
  { method: 'POST', path: `${one}/promote`, expected: steering(202), state: 'held' },
  { method: 'POST', path: `${one}/cancel`, expected: steering(200), state: 'held' },
];
const lists = ['/api/uploads', '/api/campaigns', '/api/ad-sets', '/api/ads', '/api/daily-metrics'];
/** Empty here: no report has a range or a breakdown. */
const moreLists = ['/api/period-metrics', '/api/daily-metrics/breakdowns', '/api/period-metrics/breakdowns'];
const platforms = ['/api/uploads/platforms', '/api/uploads/platforms/{name}'];
const others = [...lists, ...moreLists, '/api/uploads/mappings', ...platforms];

/** An upload of the owner's with a good and a bad row. */
async function ownersUpload(state: Route['state']): Promise<string> {
  const csv = `${header}\n${row('1.50')}\n${row('abc')}\n`;
  const fields = { workspace_id: workspaceId, force_partial: 'true', review: String(state === 'held') };
  const { body } = await uploads.post(people.owner, csv, fields);
  await uploads.drive(people.owner.tenantId);
  const expected = state === 'held' ? 'staging_complete' : 'partial';
  expect(await uploads.get(people.owner, body.upload_id)).toMatchObject({ status: expected });
  return body.upload_id;
}

const stateOf = (uploadId: string) =>
  database.owner('select status, review, undone_at, updated_at from data_uploads where upload_id = $1', [
    uploadId,
  ]);

for (const { method, path, query = '', body: sent, expected, state } of routes) {
  describe(`${method} ${path}${query}`, () => {
    test.each(persons)('for the %s', async (person) => {
      const uploadId = await ownersUpload(state);
      const before = await stateOf(uploadId);
      const url = `${path.replace('{upload_id}', uploadId)}${query}`;
      const answer = await uploads.call(people[person], url, method, sent);
      expect(answer.status).toBe(expected[person]);
      if (answer.status < 400) return;
      expect(answer.text).not.toContain(secret);
      expect(await stateOf(uploadId)).toEqual(before);
      // The response does not reveal whether the id belongs to another tenant or to nobody.
      const nobodys = newId();
      const unknown = await uploads.call(people[person], url.replace(uploadId, nobodys), method, sent);
      const body = (given: typeof answer) => ({ ...given.body, request_id: null });
      expect(JSON.stringify(body(unknown)).replaceAll(nobodys, uploadId)).toBe(JSON.stringify(body(answer)));
    });
  });
}

test('every upload route is in one of these lists', async () => {
  const answer = await fetch(`${uploads.server.url}/api/openapi.json`);
  const { paths } = (await answer.json()) as { paths: Record<string, object> };
  const known = new Set([...routes.map(({ path }) => path), ...others]);
  const about = /^\/api\/(uploads|campaigns|ad-sets|ads|daily-metrics|period-metrics)(\/|$)/;
  const found = Object.keys(paths).filter((path) => about.test(path));
  expect(found.sort()).toEqual([...known].sort());
});

test('the list of uploads shows members their own and other roles everybody’s', async () => {
  const mine = await ownersUpload('done');
  const fields = { workspace_id: workspaceId };
  const { body } = await uploads.post(people.colleague, `${header}\n${row('1')}\n`, fields);
  const listed = async (person: Person) => {
    const answer = await uploads.call(people[person], '/api/uploads?limit=200');
    return (answer.body.data as { upload_id: string }[])
      .map(({ upload_id: id }) => id)
      .filter((id) => [mine, body.upload_id].includes(id));
  };
  expect(await listed('owner')).toEqual([mine]);
  expect(await listed('colleague')).toEqual([body.upload_id]);
  for (const person of ['admin', 'support', 'service', 'operator'] as const)
    expect(await listed(person)).toEqual([body.upload_id, mine]);
  expect(await listed('stranger')).toEqual([]);
});

test('a filter by a workspace of another tenant finds nothing', async () => {
  await ownersUpload('done');
  for (const list of [...lists, ...moreLists]) {
    const answer = await uploads.call(people.stranger, `${list}?workspace_id=${workspaceId}`);
    expect(answer).toMatchObject({ status: 200, body: { data: [], has_more: false } });
  }
});

describe.each(lists.slice(1))('%s', (list) => {
  test('shows promoted data to everybody in the tenant and to nobody else', async () => {
    await ownersUpload('done');
    for (const person of persons) {
      const answer = await uploads.call(people[person], `${list}?workspace_id=${workspaceId}&platform=meta`);
      expect(answer.status).toBe(200);
      const listed = answer.body.data as { workspace_id: string }[];
      expect([person, listed.map((found) => found.workspace_id)]).toEqual([
        person,
        person === 'stranger' ? [] : [workspaceId],
      ]);
    }
    const other = await uploads.call(people.owner, `${list}?platform=google`);
    expect(other.body.data).toEqual([]);
  });

  test('refuses a filter that it does not know', async () => {
    expect(await uploads.call(people.owner, `${list}?tenant_id=x`)).toMatchObject({ status: 400 });
    expect(await uploads.call(people.owner, `${list}?platform=bing`)).toMatchObject({ status: 400 });
  });
});

test('support may read but not upload; every other role may upload', async () => {
  const expected = { owner: 201, colleague: 201, admin: 201, support: 403, service: 201, operator: 201 };
  for (const [person, status] of Object.entries(expected) as [Person, number][]) {
    const form = uploadForm(`${header}\n${row('1')}\n`, { workspace_id: workspaceId });
    const answer = await uploads.call(people[person], '/api/uploads', 'POST', form);
    expect([person, answer.status]).toEqual([person, status]);
  }
});

test('a role that may not upload is refused before the form is read', async () => {
  const stored = uploads.storedFiles();
  const answer = await uploads.call(
    people.support,
    '/api/uploads',
    'POST',
    uploadForm('', { platform: 'bing' }),
  );
  expect(answer.status).toBe(403);
  expect(uploads.storedFiles()).toEqual(stored);
});

test('mappings belong to one tenant; all of its roles read them, and support writes none', async () => {
  const mapping = { [secret]: 'spend' };
  const put = (person: Person) =>
    uploads.call(people[person], '/api/uploads/mappings', 'PUT', { platform: 'tiktok', mapping });
  expect((await put('support')).status).toBe(403);
  expect((await put('owner')).status).toBe(200);
  for (const person of persons) {
    const { body } = await uploads.call(people[person], '/api/uploads/mappings?platform=tiktok');
    const seen = person === 'stranger' ? {} : mapping;
    expect([person, body.data]).toEqual([person, [{ platform: 'tiktok', mapping: seen }]]);
  }
});

test('without a token every upload route is closed', async () => {
  const nobodys = newId();
  const all = [
    ...others.map((path) => ({ method: 'GET', path })),
    ...routes.map(({ method, path }) => ({ method, path: path.replace('{upload_id}', nobodys) })),
    { method: 'POST', path: '/api/uploads' },
    { method: 'PUT', path: '/api/uploads/mappings' },
  ];
  for (const { method, path } of all) {
    const answer = await fetch(`${uploads.server.url}${path}`, { method });
    expect([method, path, answer.status]).toEqual([method, path, 401]);
  }
});

test('the events of an upload belong to its owner', async () => {
  const mine = await ownersUpload('done');
  const [event] = await database.owner<{ user_id: string }>(
    `select user_id from events where subject = $1 and type = 'ingestion.complete'`,
    [mine],
  );
  expect(event?.user_id).toBe('user-o');
});
