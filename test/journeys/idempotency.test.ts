import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { problems } from '../../src/kernel/http/replies.ts';
import { principalOf, type RouteModule, sendKept } from '../../src/kernel/http/route.ts';
import { createWorkspace } from '../../src/kernel/tenancy/service.ts';
import { newId } from '../../src/lib/ids.ts';
import { useServer } from '../support/servers/server.ts';
import { useDatabase } from '../support/worlds/database.ts';

/** Work that a test can stop, break and resume in the middle of its transaction. */
const faults = { failures: 0, entered: 0, hold: null as Promise<void> | null };

const fragileRoutes: RouteModule = (app, { db }) => {
  app.route({
    method: 'POST',
    url: '/api/test/fragile',
    config: { action: 'workspace.manage', idempotent: true },
    schema: {
      body: z.strictObject({ name: z.string() }),
      response: { 201: z.object({ workspace_id: z.string() }), ...problems() },
    },
    handler: async (request, reply) => {
      const render = (made: { workspaceId: string }) => ({ workspace_id: made.workspaceId });
      const keep = request.receipt.keeping(201, render);
      const { tenantId } = principalOf(request);
      const made = await createWorkspace(db, { tenantId, name: request.body.name }, async (tx, result) => {
        faults.entered += 1;
        await faults.hold;
        await keep(tx, result);
        if (faults.failures > 0) {
          faults.failures -= 1;
          throw new Error('the work broke after everything was written');
        }
      });
      return reply.code(201).send(render(made));
    },
  });
};

/** A route that reads its own body, as file routes do, and counts how often it really runs. */
const streamed = { runs: 0 };
const streamedRoutes: RouteModule = (app, { db }) => {
  app.route({
    method: 'POST',
    url: '/api/test/streamed',
    config: { action: 'workspace.manage', idempotent: 'by_handler' },
    schema: {
      body: z.strictObject({ content: z.string(), noise: z.string() }),
      response: { 201: z.object({ run: z.int() }), ...problems() },
    },
    handler: async (request, reply) => {
      const kept = await request.receipt.claim({ content: request.body.content });
      if (kept) return sendKept(reply, kept);
      streamed.runs += 1;
      const body = { run: streamed.runs };
      await db.tenant(principalOf(request).tenantId, (tx) => request.receipt.keep(tx, { status: 201, body }));
      return reply.code(201).send(body);
    },
  });
};

const database = useDatabase();
const server = useServer(database, { routes: [fragileRoutes, streamedRoutes] });

interface Answer {
  status: number;
  body: Record<string, unknown>;
  headers: Headers;
}

async function post(
  path: string,
  { tenantId, key, body, userId }: { tenantId: string; key?: string; body: unknown; userId?: string },
): Promise<Answer> {
  const answer = await fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: {
      ...(await server.bearer({ tenantId, ...(userId === undefined ? {} : { userId }) })),
      'content-type': 'application/json',
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    body: JSON.stringify(body),
  });
  return { status: answer.status, body: (await answer.json()) as Answer['body'], headers: answer.headers };
}

/** Like a careful client: repeats a request that is in flight elsewhere until it gets a response. */
async function postUntilAnswered(path: string, request: Parameters<typeof post>[1]): Promise<Answer> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const answer = await post(path, request);
    if (answer.body.code !== 'idempotency_in_flight') return answer;
    expect(answer.headers.get('retry-after')).toMatch(/^[1-5]$/);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error('The request stayed in flight for 200 attempts');
}

async function workspaceNames(tenantId: string): Promise<string[]> {
  const rows = await database.owner<{ name: string }>(
    `select name from workspaces where tenant_id = $1 and name <> 'Default' order by name`,
    [tenantId],
  );
  return rows.map(({ name }) => name);
}

function expireLeases(tenantId: string): Promise<object[]> {
  return database.owner(
    `update idempotency_keys set owner_expires_at = clock_timestamp() - interval '1 second' where tenant_id = $1`,
    [tenantId],
  );
}

async function waitFor(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('The condition did not come true within 30 s');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe('a POST with an Idempotency-Key', () => {
  test('1,000 retries racing over 100 keys create exactly 100 things, and equal keys get equal responses', async () => {
    const tenantId = `racing-${newId()}`;
    const numbers = Array.from({ length: 1000 }, (_, index) => index % 100);
    const answers = new Map<number, Set<string>>();
    let next = 0;
    const client = async () => {
      for (let index = next++; index < numbers.length; index = next++) {
        const number = numbers[index] ?? 0;
        const answer = await postUntilAnswered('/api/workspaces', {
          tenantId,
          key: `key-${number}`,
          body: { name: `workspace ${number}` },
        });
        expect(answer.status).toBe(201);
        const seen = answers.get(number) ?? new Set();
        answers.set(number, seen.add(JSON.stringify(answer.body)));
      }
    };
    await Promise.all(Array.from({ length: 40 }, client));
    expect(await workspaceNames(tenantId)).toHaveLength(100);
    expect(answers.size).toBe(100);
    expect([...answers.values()].every((bodies) => bodies.size === 1)).toBe(true);
  }, 180_000);

  test('simultaneous requests with one key create one thing', async () => {
    const request = { tenantId: `burst-${newId()}`, key: 'one', body: { name: 'only one' } };
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => postUntilAnswered('/api/workspaces', request)),
    );
    expect(new Set(answers.map(({ body }) => body.workspace_id)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === 'true')).toHaveLength(29);
  });

  test('the same key with other content is refused with 422, whatever the order of properties', async () => {
    const tenantId = `other-${newId()}`;
    const first = { tenantId, key: 'k', body: { name: 'a', role: 'member' } };
    expect((await post('/api/api-keys', first)).status).toBe(201);
    const reordered = await post('/api/api-keys', { ...first, body: { role: 'member', name: 'a' } });
    expect(reordered.status).toBe(201);
    expect(reordered.headers.get('idempotency-replayed')).toBe('true');
    const other = await post('/api/api-keys', { ...first, body: { name: 'b', role: 'member' } });
    expect([other.status, other.body.code]).toEqual([422, 'idempotency_key_reused']);
  });

  test('belongs to one principal and one route', async () => {
    const tenantId = `scope-${newId()}`;
    const mine = await post('/api/workspaces', { tenantId, key: 'k', body: { name: 'mine' }, userId: 'me' });
    const yours = await post('/api/workspaces', {
      tenantId,
      key: 'k',
      body: { name: 'yours' },
      userId: 'you',
    });
    const elsewhere = await post('/api/test/fragile', {
      tenantId,
      key: 'k',
      body: { name: 'else' },
      userId: 'me',
    });
    expect([mine.status, yours.status, elsewhere.status]).toEqual([201, 201, 201]);
  });

  test('a 5xx failure leaves nothing behind and the key usable', async () => {
    const request = { tenantId: `broken-${newId()}`, key: 'k', body: { name: 'survivor' } };
    faults.failures = 1;
    const broken = await post('/api/test/fragile', request);
    expect([broken.status, broken.body.code]).toEqual([500, 'internal_error']);
    expect(JSON.stringify(broken.body)).not.toContain('the work broke');
    expect(await workspaceNames(request.tenantId)).toEqual([]);
    expect((await post('/api/test/fragile', request)).status).toBe(201);
    expect(await workspaceNames(request.tenantId)).toEqual(['survivor']);
  });

  test('a refusal is stored: the retry gets the same 409 although the obstacle is gone', async () => {
    const tenantId = `refused-${newId()}`;
    await post('/api/workspaces', { tenantId, body: { name: 'taken' } });
    const request = { tenantId, key: 'k', body: { name: 'taken' } };
    const refused = await post('/api/workspaces', request);
    expect([refused.status, refused.body.code]).toEqual([409, 'workspace_name_taken']);
    await database.owner('delete from workspaces where tenant_id = $1', [tenantId]);
    const again = await post('/api/workspaces', request);
    expect(again.body).toEqual(refused.body);
    expect(again.headers.get('content-type')).toContain('application/problem+json');
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  });

  test('is a 409 while the first request runs, and an owner that lost its lease cannot commit', async () => {
    const request = { tenantId: `slow-${newId()}`, key: 'k', body: { name: 'by the second' } };
    let open = () => {};
    faults.hold = new Promise((resolve) => {
      open = resolve;
    });
    const entered = faults.entered;
    const slow = post('/api/test/fragile', request);
    await waitFor(() => faults.entered > entered);
    const meanwhile = await post('/api/test/fragile', request);
    expect([meanwhile.status, meanwhile.body.code]).toEqual([409, 'idempotency_in_flight']);

    // The first one is taken for dead. Its name is still locked, so the second waits for it in the database.
    await expireLeases(request.tenantId);
    const second = post('/api/test/fragile', request);
    faults.hold = null;
    await waitForOwnerChange(request.tenantId);
    open();
    expect((await slow).body.code).toBe('idempotency_taken_over');
    expect((await second).status).toBe(201);
    expect(await workspaceNames(request.tenantId)).toEqual(['by the second']);
    expect((await post('/api/test/fragile', request)).headers.get('idempotency-replayed')).toBe('true');
  });

  test('a key whose owner crashed is taken over after the lease expires', async () => {
    const tenantId = `crashed-${newId()}`;
    await post('/api/workspaces', { tenantId, key: 'k', body: { name: 'x' } });
    await database.owner(
      `update idempotency_keys set status_code = null, body = null, owner = gen_random_uuid(),
              owner_expires_at = clock_timestamp() + interval '20 s' where tenant_id = $1`,
      [tenantId],
    );
    await database.owner(`delete from workspaces where tenant_id = $1 and name = 'x'`, [tenantId]);
    const request = { tenantId, key: 'k', body: { name: 'x' } };
    expect((await post('/api/workspaces', request)).body.code).toBe('idempotency_in_flight');
    await expireLeases(tenantId);
    expect((await post('/api/workspaces', request)).status).toBe(201);
    expect(await workspaceNames(tenantId)).toEqual(['x']);
  });

  test('a route that reads its own body claims the key for the body it has read', async () => {
    const tenantId = `streamed-${newId()}`;
    const send = (content: string, noise: string, key?: string) =>
      post('/api/test/streamed', {
        tenantId,
        body: { content, noise },
        ...(key === undefined ? {} : { key }),
      });
    const first = await send('a', 'boundary 1', 'k');
    const again = await send('a', 'boundary 2', 'k');
    expect([first.status, again.status, again.body]).toEqual([201, 201, first.body]);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect((await send('b', 'boundary 3', 'k')).body.code).toBe('idempotency_key_reused');
    expect((await send('a', 'boundary 4')).body).not.toEqual(first.body);
  });

  test('is forgotten after 24 hours', async () => {
    const tenantId = `old-${newId()}`;
    await post('/api/workspaces', { tenantId, key: 'k', body: { name: 'x' } });
    await database.owner(
      `update idempotency_keys set created_at = clock_timestamp() - interval '25 hours' where tenant_id = $1`,
      [tenantId],
    );
    expect((await post('/api/workspaces', { tenantId, key: 'k', body: { name: 'y' } })).status).toBe(201);
  });

  test('a new API key is repeated to its creator and is nowhere in the database', async () => {
    const tenantId = `sealed-${newId()}`;
    const request = { tenantId, key: 'k', body: { name: 'ci', role: 'service' } };
    const first = await post('/api/api-keys', request);
    const again = await post('/api/api-keys', request);
    expect(again.body.key).toBe(first.body.key);
    const rows = await database.owner('select * from idempotency_keys where tenant_id = $1', [tenantId]);
    const keys = await database.owner('select * from api_keys where tenant_id = $1', [tenantId]);
    expect(rows).toHaveLength(1);
    expect(JSON.stringify([rows, keys])).not.toContain(String(first.body.key).slice(8));
  });

  test.each(['', 'with space', 'ümlaut', 'x'.repeat(256)])('a key like %j is refused', async (key) => {
    const answer = await server.app.inject({
      method: 'POST',
      url: '/api/workspaces',
      headers: { ...(await server.bearer({ tenantId: 'keys' })), 'idempotency-key': key },
      payload: { name: 'never' },
    });
    expect([answer.statusCode, answer.json().code]).toEqual([400, 'invalid_idempotency_key']);
    expect(await workspaceNames('keys')).toEqual([]);
  });

  test('an operator creates a tenant once, and a retry gets the same response and Location', async () => {
    const tenantId = `operator-${newId()}`;
    const headers = {
      ...(await server.bearer({ tenantId: 'operators', role: 'operator' })),
      'idempotency-key': 'k',
    };
    const send = () =>
      server.app.inject({ method: 'POST', url: '/api/tenants', headers, payload: { tenant_id: tenantId } });
    const first = await send();
    const again = await send();
    expect([first.statusCode, again.statusCode]).toEqual([201, 201]);
    expect(again.body).toBe(first.body);
    expect(again.headers.location).toBe(`/api/tenants/${tenantId}`);
    expect(again.headers['idempotency-replayed']).toBe('true');
  });
});

async function waitForOwnerChange(tenantId: string): Promise<void> {
  const deadline = Date.now() + 30_000;
  for (;;) {
    const rows = await database.owner(
      `select 1 from idempotency_keys where tenant_id = $1 and owner_expires_at > clock_timestamp()`,
      [tenantId],
    );
    if (rows.length > 0) return;
    if (Date.now() > deadline) throw new Error('Nobody took the key over within 30 s');
  }
}
