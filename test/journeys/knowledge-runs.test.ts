import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { useKnowledge, wordEmbedder } from '../support/servers/knowledge-server.ts';
import type { TestClaims } from '../support/servers/server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';

// Start, pause, resume, cancel: their effect on a run and on existing data.
const database = useDatabase();
const words = wordEmbedder();
const knowledge = useKnowledge(database, { customEmbedders: [words.definition] });

type Claims = TestClaims & { tenantId: string };

beforeEach(() => {
  delete words.hooks.onCall;
});

async function newKb(files: number, from = 0): Promise<{ claims: Claims; kbId: string }> {
  const claims: Claims = { tenantId: await newTenant(database), role: 'admin' };
  const made = await knowledge.create(claims, { name: 'Notes', embedder: words.embedder });
  const kbId = String(made.body.kb_id);
  await addNotes({ claims, kbId }, files, from);
  return { claims, kbId };
}

/** Each of several chunks, so that a run is many steps. */
async function addNotes(kb: { claims: Claims; kbId: string }, count: number, from = 0): Promise<void> {
  const named: Record<string, string> = {};
  for (let at = from; at < from + count; at += 1) {
    const parts = Array.from({ length: 12 }, (_, part) => `## Part ${part}\n\n${sentence(at, part)}`);
    named[`note-${String(at).padStart(3, '0')}.md`] = `# Note ${at}\n\n${parts.join('\n\n')}\n`;
  }
  expect((await knowledge.upload(kb.claims, kb.kbId, named)).status).toBe(201);
}

const sentence = (at: number, part: number) =>
  Array.from({ length: 60 }, (_, word) => `w${at}x${part}x${word}`).join(' ');

async function start({ claims, kbId }: { claims: Claims; kbId: string }, body?: object): Promise<string> {
  const started = await knowledge.start(claims, kbId, body);
  expect(started.status, started.text).toBe(202);
  return String(started.body.job_id);
}

/** Works on the run until its embedder is called for the n-th time, and then does something first. */
async function driveUntilCall(claims: Claims, n: number, then: () => Promise<unknown>): Promise<void> {
  let calls = 0;
  let isDone = false;
  words.hooks.onCall = async () => {
    calls += 1;
    if (calls !== n) return;
    await then();
    isDone = true;
  };
  await knowledge.drive(claims.tenantId, 20_000);
  expect(isDone).toBe(true);
}

/** A worker learns of a pause with its next heartbeat. */
async function hearsOf(jobId: string): Promise<void> {
  const look = 'select heartbeat_at > updated_at as heard from ingestion_jobs where job_id = $1';
  const heard = async () => (await database.owner<{ heard: boolean }>(look, [jobId]))[0]?.heard === true;
  await eventually(heard, 'the worker has heard of the pause');
}

async function rows(table: string, { tenantId }: Claims): Promise<number> {
  const [row] = await database.owner<{ n: number }>(
    `select count(*)::integer as n from ${table} where tenant_id = $1`,
    [tenantId],
  );
  return row?.n ?? -1;
}

test('a second start is a 409 that names the first, and the same Idempotency-Key gets the same run', async () => {
  const kb = await newKb(1);
  const headers = { 'idempotency-key': randomUUID() };
  const route = `/api/ingestion/jobs/${kb.kbId}/start`;
  const first = await knowledge.call(kb.claims, route, { method: 'POST', headers });
  const again = await knowledge.call(kb.claims, route, { method: 'POST', headers });
  expect([first.status, again.status]).toEqual([202, 202]);
  expect(again.body).toEqual(first.body);
  expect(await knowledge.start(kb.claims, kb.kbId)).toMatchObject({
    status: 409,
    body: { code: 'job_already_active', active_job_id: first.body.job_id },
  });
});

test('a run that waits for its next try counts as running and is not started a second time', async () => {
  const kb = await newKb(1);
  const jobId = await start(kb);
  await database.owner(
    `update ingestion_jobs
        set status = 'failed', error_code = 'x', error_message = 'The provider was away',
            next_retry_at = now() + interval '1 hour', run_at = now() + interval '1 hour'
      where job_id = $1`,
    [jobId],
  );
  expect(await knowledge.status(kb.claims, kb.kbId)).toMatchObject({
    status: 'running',
    last_error: 'The provider was away',
    stalled: false,
  });
  expect(await knowledge.start(kb.claims, kb.kbId)).toMatchObject({
    status: 409,
    body: { code: 'job_already_active', active_job_id: jobId },
  });
});

test('a run that nobody works on is shown as stalled', async () => {
  const kb = await newKb(1);
  const jobId = await start(kb);
  const age = (seconds: number) =>
    database.owner(`update ingestion_jobs set run_at = now() - $2 * interval '1 second' where job_id = $1`, [
      jobId,
      seconds,
    ]);
  await age(10);
  expect(await knowledge.status(kb.claims, kb.kbId)).toMatchObject({ status: 'running', stalled: false });
  await age(40);
  expect(await knowledge.status(kb.claims, kb.kbId)).toMatchObject({ status: 'running', stalled: true });
  await knowledge.drive(kb.claims.tenantId);
  expect(await knowledge.status(kb.claims, kb.kbId)).toMatchObject({ status: 'completed', stalled: false });
});

test('a run pauses with what is committed and continues from there', async () => {
  const kb = await newKb(30);
  const { claims } = kb;
  const jobId = await start(kb);
  const calledBefore = words.calls.flat().length;
  await driveUntilCall(claims, 3, async () => {
    expect(await knowledge.move(claims, kb.kbId, 'pause')).toMatchObject({
      status: 200,
      body: { job_id: jobId, status: 'paused' },
    });
    await hearsOf(jobId);
  });
  const paused = await knowledge.status(claims, jobId);
  expect(paused).toMatchObject({ status: 'paused', stalled: false, finished_at: null });
  const before = words.calls.flat().length;
  await knowledge.drive(claims.tenantId, 2_000);
  expect(words.calls.flat().length).toBe(before);
  expect(await knowledge.move(claims, jobId, 'resume')).toMatchObject({ body: { status: 'running' } });
  await knowledge.drive(claims.tenantId);
  const done = await knowledge.status(claims, kb.kbId);
  expect(done).toMatchObject({ job_id: jobId, status: 'completed', counters: { docs_seen: 30 } });
  // What was committed before the pause is not embedded again; little was under way.
  const { chunks_processed: chunks } = done.counters as { chunks_processed: number };
  expect(words.calls.flat().length - calledBefore).toBeLessThan(chunks * 1.5);
});

test('a canceled run removes what it added and nothing else', async () => {
  const kb = await newKb(2);
  const { claims } = kb;
  await start(kb);
  await knowledge.drive(claims.tenantId);
  const before = {
    chunks: await rows('embeddings_index', claims),
    links: await rows('knowledge_links', claims),
  };
  await addNotes(kb, 30, 2);
  const jobId = await start(kb);
  // Paused first: a worker that is at it would clean up before anybody can ask what is allowed meanwhile.
  await driveUntilCall(claims, 3, async () => {
    expect(await knowledge.move(claims, kb.kbId, 'pause')).toMatchObject({ status: 200 });
    await hearsOf(jobId);
  });
  expect(await rows('embeddings_index', claims)).toBeGreaterThan(before.chunks);
  const canceled = await knowledge.move(claims, kb.kbId, 'cancel');
  expect(canceled, canceled.text).toMatchObject({ status: 200, body: { status: 'canceled' } });
  expect(await knowledge.start(claims, kb.kbId)).toMatchObject({
    status: 409,
    body: { code: 'cleanup_in_progress' },
  });
  expect(await knowledge.call(claims, `/api/knowledge/${kb.kbId}`, { method: 'DELETE' })).toMatchObject({
    status: 409,
    body: { code: 'knowledge_base_busy', active_job_id: jobId },
  });
  await knowledge.drive(claims.tenantId);
  expect(await knowledge.status(claims, kb.kbId)).toMatchObject({
    job_id: jobId,
    status: 'not_started',
    last_error: 'Canceled by user',
    finished_at: expect.any(String),
    checkpoint: null,
    counters: { docs_seen: 0, chunks_seen: 0, chunks_processed: 0 },
  });
  expect({
    chunks: await rows('embeddings_index', claims),
    links: await rows('knowledge_links', claims),
  }).toEqual(before);
  const { body } = await knowledge.search(claims, kb.kbId, { query: 'w0x0x0 w0x0x1', mode: 'text' });
  expect(body.results).not.toEqual([]);
  await start(kb);
  await knowledge.drive(claims.tenantId);
  expect(await knowledge.status(claims, kb.kbId)).toMatchObject({
    status: 'completed',
    counters: { docs_seen: 32, docs_unchanged: 2 },
  });
});

test('a run stops at its budget, reports it, and continues when it is resumed', async () => {
  const kb = await newKb(30);
  const { claims } = kb;
  await start(kb, { budget: { max_tokens: 5_000 } });
  await knowledge.drive(claims.tenantId);
  const paused = await knowledge.status(claims, kb.kbId);
  expect(paused).toMatchObject({ status: 'paused', error_code: 'budget_exhausted' });
  expect(String(paused.last_error)).toMatch(/budget/i);
  const resumed = async () => {
    const { status } = await knowledge.status(claims, kb.kbId);
    if (status === 'paused') await knowledge.move(claims, kb.kbId, 'resume');
    await knowledge.drive(claims.tenantId);
    return (await knowledge.status(claims, kb.kbId)).status === 'completed';
  };
  await eventually(resumed, 'the run is completed after some resumes');
  expect(await knowledge.status(claims, kb.kbId)).toMatchObject({ counters: { docs_seen: 30 } });
});

test('files, sources and the knowledge base cannot be deleted while a run is active', async () => {
  const kb = await newKb(1);
  const { claims, kbId } = kb;
  const place = `/api/knowledge/${kbId}`;
  const source = await knowledge.call(claims, `${place}/sources`, {
    method: 'POST',
    body: { type: 'text', content: 'A' },
  });
  const [file] = (await knowledge.call(claims, `${place}/files`)).body.data as Record<string, string>[];
  const jobId = await start(kb);
  for (const route of [
    place,
    String(source.headers.get('location')),
    `${place}/documents/${file?.file_id}`,
  ]) {
    expect(await knowledge.call(claims, route, { method: 'DELETE' })).toMatchObject({
      status: 409,
      body: { code: 'knowledge_base_busy', active_job_id: jobId },
    });
  }
  await knowledge.drive(claims.tenantId);
  expect(await knowledge.call(claims, place, { method: 'DELETE' })).toMatchObject({ status: 204 });
  const tables = ['bases', 'sources', 'files', 'generations', 'documents', 'links'].map(
    (name) => `knowledge_${name}`,
  );
  for (const table of [...tables, 'crawl_frontier', 'embeddings_index', 'files']) {
    expect({ table, rows: await rows(table, claims) }).toEqual({ table, rows: 0 });
  }
  // Its history stays, under the id of the job.
  expect(await knowledge.status(claims, jobId)).toMatchObject({ kb_id: kbId, status: 'completed' });
});

test('a move that the state of a run does not allow is a 409, and so is every move without a run', async () => {
  const kb = await newKb(1);
  for (const name of ['pause', 'resume', 'cancel'] as const) {
    expect(await knowledge.move(kb.claims, kb.kbId, name)).toMatchObject({
      status: 409,
      body: { code: 'knowledge_run_missing' },
    });
  }
  await start(kb);
  await knowledge.drive(kb.claims.tenantId);
  for (const name of ['pause', 'resume', 'cancel'] as const) {
    expect(await knowledge.move(kb.claims, kb.kbId, name)).toMatchObject({
      status: 409,
      body: { code: 'illegal_transition' },
    });
  }
});
