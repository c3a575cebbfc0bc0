import { beforeAll, expect, test } from 'vitest';
import { picture } from '../generators/images.ts';
import { openEventSource } from '../support/probes/event-source.ts';
import type { TestClaims } from '../support/servers/server.ts';
import { useServerProcess } from '../support/servers/server-process.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';

// Who sees and controls whose items, over the built product. No worker runs: open rows stay open.
const database = useDatabase();
const server = useServerProcess(database, { SLUICE_WORKER: 'false' });

/** A marker in everything that belongs to the owner; nobody else may see it. */
const secret = 'tulip-7391';

let people: Record<Person, TestClaims>;
const persons = ['owner', 'colleague', 'admin', 'support', 'service', 'stranger'] as const;
type Person = (typeof persons)[number];

beforeAll(async () => {
  people = await newPeople();
});

/** A tenant with people of its own, and a stranger from another one. */
async function newPeople(): Promise<Record<Person, TestClaims>> {
  const tenantId = await newTenant(database);
  const strangersTenant = await newTenant(database);
  return {
    owner: { tenantId, role: 'member', userId: 'user-o' },
    colleague: { tenantId, role: 'member', userId: 'user-c' },
    admin: { tenantId, role: 'admin', userId: 'user-a' },
    support: { tenantId, role: 'support', userId: 'user-s' },
    service: { tenantId, role: 'service', userId: 'user-v' },
    // With the same user id: the tenant must decide.
    stranger: { tenantId: strangersTenant, role: 'admin', userId: 'user-o' },
  };
}

interface Seen {
  status: number;
  text: string;
}

async function ask(who: TestClaims, method: string, path: string, body?: object): Promise<Seen> {
  const headers: Record<string, string> = await server.bearer(who);
  if (body) headers['content-type'] = 'application/json';
  const sent = body ? { body: JSON.stringify(body) } : {};
  const answer = await fetch(`${server.url}${path}`, { method, headers, ...sent });
  return { status: answer.status, text: await answer.text() };
}

async function read<T>(who: TestClaims, path: string): Promise<T> {
  const { status, text } = await ask(who, 'GET', path);
  expect({ path, status }).toEqual({ path, status: 200 });
  return JSON.parse(text) as T;
}

/** A job of that many rows; each is open. */
function makeJob(who: TestClaims, { rows, word }: { rows: number; word: string }): Promise<string> {
  const lines = Array.from({ length: rows }, (_, n) => `${word} ${n}`);
  return sendFile(who, new Blob([`title\n${lines.join('\n')}\n`]), `${word}.csv`);
}

async function sendFile(who: TestClaims, content: Blob, name: string): Promise<string> {
  const form = new FormData();
  form.set('file', content, name);
  const headers = await server.bearer(who);
  const answer = await fetch(`${server.url}/api/jobs`, { method: 'POST', headers, body: form });
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { jobId: string }).jobId;
}

interface OneJob {
  jobId: string;
  itemId: string;
}

interface Route {
  method: 'GET' | 'POST' | 'PATCH';
  /** As openapi.json names it. */
  path: string;
  query?: string;
  body?: object;
  expected: Record<Person, number>;
  /** Brings the job into a state in which the route can be used. */
  before?: string;
  isOfImages?: boolean;
}

const reading = { owner: 200, colleague: 404, admin: 200, support: 200, service: 200, stranger: 404 };
const steering = { owner: 200, colleague: 404, admin: 200, support: 403, service: 200, stranger: 404 };
const job = '/api/jobs/{job_id}';
const item = `${job}/items/{item_id}`;

const routes: Route[] = [
  { method: 'GET', path: job, expected: reading },
  { method: 'GET', path: `${job}/items`, expected: reading },
  { method: 'GET', path: `${job}/items`, query: '?page=1&pageSize=2&input=true', expected: reading },
  {
    method: 'GET',
    path: `${job}/items`,
    query: '?statuses=PENDING&pageSize=2&input=true',
    expected: reading,
  },
  { method: 'GET', path: `${job}/items`, query: '?statuses=PENDING,DONE&pageSize=2', expected: reading },
  { method: 'GET', path: item, expected: reading },
  { method: 'GET', path: `${item}/calls`, expected: reading },
  { method: 'GET', path: `${job}/failures`, expected: reading },
  { method: 'GET', path: `${job}/corrections`, expected: reading },
  { method: 'PATCH', path: item, body: { column: 'title', value: 'corrected' }, expected: steering },
  { method: 'GET', path: `${item}/image`, expected: reading, isOfImages: true },
  { method: 'GET', path: `${item}/thumbnail`, expected: reading, isOfImages: true },
  { method: 'POST', path: `${job}/export`, query: '?format=csv', expected: reading },
  { method: 'POST', path: `${job}/export`, query: '?format=xlsx', expected: reading },
  { method: 'POST', path: `${job}/pause`, expected: steering },
  { method: 'POST', path: `${job}/resume`, expected: steering, before: 'pause' },
  { method: 'POST', path: `${job}/kickoff`, query: '?durationMs=2000', expected: steering },
  { method: 'POST', path: `${job}/reprocess`, body: { statuses: ['DONE'] }, expected: steering },
  { method: 'POST', path: `${job}/cancel`, expected: steering },
];

/** An image, which also serves as its thumbnail: no worker runs to make one. */
async function ownersImage(): Promise<OneJob> {
  const content = new Blob([new Uint8Array(await picture().png().toBuffer())]);
  const jobId = await sendFile(people.owner, content, `${secret}.png`);
  await database.owner(
    `insert into item_images (tenant_id, job_id, row_no, kind, file_id)
     select tenant_id, job_id, row_no, 'thumbnail', file_id from item_images where job_id = $1`,
    [jobId],
  );
  const [first] = await database.owner<{ id: string }>('select id from job_items where job_id = $1', [jobId]);
  return { jobId, itemId: first?.id ?? '' };
}

async function ownersJob(): Promise<OneJob> {
  const jobId = await makeJob(people.owner, { rows: 3, word: secret });
  const [first] = await database.owner<{ id: string }>(
    'select min(id) as id from job_items where job_id = $1',
    [jobId],
  );
  const itemId = first?.id ?? '';
  await database.owner(
    `insert into search_events (tenant_id, job_id, item_ids, provider, strategy, outcome, took_ms, user_id)
     values ($1, $2, $3, $4, 'first', 'ok', 1, $5)`,
    [people.owner.tenantId, jobId, [itemId], secret, people.owner.userId],
  );
  return { jobId, itemId };
}

/** What of a job a forbidden request could have changed. */
async function stateOf(jobId: string): Promise<object[]> {
  return database.owner(
    `select j.status, j.updated_at, i.status as "itemStatus", i.attempts, i.updated_at as "itemUpdatedAt"
       from ingestion_jobs j join job_items i using (tenant_id, job_id)
      where j.job_id = $1 order by i.id`,
    [jobId],
  );
}

for (const { method, path, query = '', body, expected, before, isOfImages = false } of routes) {
  for (const person of persons) {
    const wanted = expected[person];
    test(`${method} ${path}${query} of a member’s job by ${person}: ${wanted}`, async () => {
      const { jobId, itemId } = await (isOfImages ? ownersImage() : ownersJob());
      if (before) await ask(people.owner, 'POST', `/api/jobs/${jobId}/${before}`);
      const earlier = await stateOf(jobId);
      const url = path.replace('{job_id}', jobId).replace('{item_id}', itemId);
      const { status, text } = await ask(people[person], method, `${url}${query}`, body);
      expect(status).toBe(wanted);
      if (wanted === 200) return;
      expect(text).not.toContain(secret);
      expect(await stateOf(jobId)).toEqual(earlier);
      // The same as for a job that never existed, except for the id: guessing reveals nothing.
      const unknown = crypto.randomUUID();
      const never = await ask(people[person], method, `${url.replace(jobId, unknown)}${query}`, body);
      expect(never.status).toBe(wanted);
      expect(codeAndDetail(never.text).replaceAll(unknown, jobId)).toBe(codeAndDetail(text));
    });
  }
}

function codeAndDetail(text: string): string {
  const { code, detail, title } = JSON.parse(text) as Record<string, string>;
  return JSON.stringify({ code, detail, title });
}

test('the table lists every job route of the server', async () => {
  const { paths } = await read<{ paths: Record<string, object> }>(people.admin, '/api/openapi.json');
  const served = Object.keys(paths).filter((path) => path.startsWith(job));
  expect([...new Set(routes.map(({ path }) => path))].toSorted()).toEqual(served.toSorted());
});

test('a page token of one job opens neither another job nor another user’s rows', async () => {
  const theirs = await makeJob(people.owner, { rows: 3, word: secret });
  const own = await makeJob(people.colleague, { rows: 3, word: 'mine' });
  const page = await read<{ nextCursor: string }>(
    people.owner,
    `/api/jobs/${theirs}/items?statuses=PENDING&pageSize=1`,
  );
  const after = encodeURIComponent(page.nextCursor);
  const wrong = await ask(people.colleague, 'GET', `/api/jobs/${own}/items?statuses=PENDING&after=${after}`);
  expect(wrong).toMatchObject({ status: 400, text: expect.stringContaining('invalid_cursor') });
  const all = await read<Pending>(people.admin, '/api/pending?userId=all&pageSize=1');
  const cursor = encodeURIComponent(all.nextCursor ?? '');
  const { text, status } = await ask(people.colleague, 'GET', `/api/pending?after=${cursor}`);
  expect(status).toBe(200);
  expect(text).not.toContain(secret);
});

interface Pending {
  data: { jobId: string; userId: string }[];
  pendingCount: number;
  nextCursor: string | null;
}

/** A tenant in which the owner has 5 open rows in 2 jobs, the colleague 2 in one; the stranger has 4 elsewhere. */
async function furnishedTenant() {
  const who = await newPeople();
  const jobs = {
    first: await makeJob(who.owner, { rows: 3, word: secret }),
    second: await makeJob(who.owner, { rows: 2, word: secret }),
    colleagues: await makeJob(who.colleague, { rows: 2, word: 'mine' }),
    strangers: await makeJob(who.stranger, { rows: 4, word: 'elsewhere' }),
  };
  return { who, jobs };
}

test('lists, pending rows, counts and statistics show and count only the caller’s own', async () => {
  const { who, jobs } = await furnishedTenant();
  const { first, second, colleagues, strangers } = jobs;
  const all = [first, second, colleagues];
  const sees: Record<Person, { jobs: string[]; mine: number; all: number | 'forbidden' }> = {
    owner: { jobs: [first, second], mine: 5, all: 'forbidden' },
    colleague: { jobs: [colleagues], mine: 2, all: 'forbidden' },
    admin: { jobs: all, mine: 0, all: 7 },
    support: { jobs: all, mine: 0, all: 7 },
    service: { jobs: all, mine: 0, all: 7 },
    stranger: { jobs: [strangers], mine: 4, all: 4 },
  };
  for (const person of persons) {
    const claims = who[person];
    const expected = sees[person];
    const listed = await read<{ data: { jobId: string }[] }>(claims, '/api/jobs');
    expect(idsOf(listed.data)).toEqual(expected.jobs.toSorted());
    const mine = await read<Pending>(claims, '/api/pending?userId=me');
    expect({ person, rows: mine.data.length, count: mine.pendingCount }).toEqual({
      person,
      rows: expected.mine,
      count: expected.mine,
    });
    expect(mine.data.every(({ userId }) => userId === claims.userId)).toBe(true);
    await checkAll(claims, expected.all);
    const { data: counted } = await read<{ data: { status: string; count: number }[] }>(
      claims,
      '/api/stats/jobs',
    );
    expect(counted).toMatchObject([{ status: 'queued', count: expected.jobs.length }]);
  }
});

function idsOf(listed: { jobId: string }[]): string[] {
  return listed.map(({ jobId }) => jobId).toSorted();
}

async function checkAll(claims: TestClaims, expected: number | 'forbidden'): Promise<void> {
  if (expected === 'forbidden') {
    const refused = await ask(claims, 'GET', '/api/pending?userId=all');
    expect(refused.status).toBe(403);
    expect(JSON.parse(refused.text)).toMatchObject({ code: 'all_users_forbidden' });
    return;
  }
  const { data, pendingCount } = await read<Pending>(claims, '/api/pending?userId=all');
  expect({ rows: data.length, count: pendingCount }).toEqual({ rows: expected, count: expected });
}

test('nothing that the colleague or the stranger can read contains the owner’s data', async () => {
  const { who, jobs } = await furnishedTenant();
  const { first } = jobs;
  const paths = [
    '/api/jobs',
    `/api/jobs?subjectId=${first}`,
    '/api/jobs?pipeline=items',
    '/api/pending',
    `/api/pending?jobId=${first}`,
    '/api/pending?jobType=csv&pageSize=500',
    '/api/events',
    `/api/events?subject=${first}`,
    '/api/events?type=job.*',
    '/api/stats/jobs',
    '/api/stats/stuck-jobs',
    '/api/stats/dead-letters',
  ];
  for (const person of ['colleague', 'stranger'] as const) {
    for (const path of paths) {
      const { status, text } = await ask(who[person], 'GET', path);
      expect({ person, path, status }).toEqual({ person, path, status: 200 });
      expect(text).not.toContain(secret);
      expect(text).not.toContain(jobs.second);
      expect(text.replace(`"instance":"${path}"`, '')).not.toContain(first);
    }
  }
  // The same paths do hold it for the owner, or the test would prove nothing.
  const isSeen = async () => {
    const seen = await Promise.all(paths.map(async (path) => (await ask(who.owner, 'GET', path)).text));
    return seen.filter((text) => text.includes(first)).length >= 8;
  };
  // Not at once: readers of events wait for every older transaction of the whole cluster, those of other tests too.
  await eventually(isSeen, 'the owner sees the job everywhere');
});

test('the live stream sends members the events of their own jobs, and admins the tenant’s', async () => {
  const who = await newPeople();
  const open = async (person: Person) =>
    openEventSource(`${server.url}/api/events/stream?type=job.queued`, await server.bearer(who[person]));
  const streams = {
    owner: await open('owner'),
    colleague: await open('colleague'),
    admin: await open('admin'),
    stranger: await open('stranger'),
  };
  try {
    const theirs = await makeJob(who.owner, { rows: 1, word: secret });
    const own = await makeJob(who.colleague, { rows: 1, word: 'mine' });
    const elsewhere = await makeJob(who.stranger, { rows: 1, word: 'elsewhere' });
    // Events come in order, so when the later one is there, the earlier one would have been there before it.
    await Promise.all([
      streams.owner.count(1),
      streams.colleague.count(1),
      streams.admin.count(2),
      streams.stranger.count(1),
    ]);
    expect(streams.owner.subjects()).toEqual([theirs]);
    expect(streams.colleague.subjects()).toEqual([own]);
    expect(streams.admin.subjects()).toEqual([theirs, own]);
    expect(streams.stranger.subjects()).toEqual([elsewhere]);
  } finally {
    for (const stream of Object.values(streams)) stream.close();
  }
});
