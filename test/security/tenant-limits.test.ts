import { afterAll, describe, expect, test } from 'vitest';
import { type EventSource, openEventSource } from '../support/probes/event-source.ts';
import type { TestClaims } from '../support/servers/server.ts';
import { useServerProcess } from '../support/servers/server-process.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { Tally } from './tally.ts';

// One tenant with many keys takes as much as it can of a started server; another one still gets its share.
const database = useDatabase();
const server = useServerProcess(database, {
  SLUICE_WORKER: 'false',
  TENANT_STREAMS: '30',
  TENANT_REQUESTS_PER_MINUTE: '600',
});
const tally = new Tally('Limits by tenant', 150);

afterAll(() => expect(tally.report()).toBeGreaterThanOrEqual(tally.quota));

/** As many principals as keys: limits by key alone would let each have its own share. */
const keyOf = (tenantId: string, n: number): TestClaims => ({
  tenantId,
  userId: `key-${n}`,
  role: 'service',
});

test('a tenant with 12 keys of 20 streams each gets its share, and others still get theirs', async () => {
  const open: EventSource[] = [];
  const openAs = async (claims: TestClaims) => {
    const source = await openEventSource(`${server.url}/api/events/stream`, await server.bearer(claims));
    open.push(source);
    return source;
  };
  const statuses: number[] = [];
  for (let key = 0; key < 12; key += 1) {
    for (let n = 0; n < 20; n += 1) statuses.push((await openAs(keyOf('stream-hog', key))).status);
  }
  tally.equal(statuses.filter((status) => status === 200).length, 30);
  for (const status of statuses) tally.ok(status === 200 || status === 429, `a stream got ${status}`);
  const refused = open.find(({ status }) => status === 429);
  await refused?.ended();
  const problem = JSON.parse(refused?.text ?? '{}');
  tally.equal(
    {
      code: problem.code,
      setting: problem.setting,
      limit: problem.limit,
      retry: refused?.headers['retry-after'],
    },
    { code: 'too_many_streams', setting: 'TENANT_STREAMS', limit: 30, retry: '10' },
  );
  tally.equal((await openAs(keyOf('stream-neighbour', 1))).status, 200);
  for (const source of open) source.close();
});

describe('requests of one tenant', () => {
  test('are limited over all of its keys, and another tenant is not refused', async () => {
    const ask = async (claims: TestClaims) => {
      const reply = await fetch(`${server.url}/api/me`, { headers: await server.bearer(claims) });
      return {
        status: reply.status,
        headers: reply.headers,
        body: (await reply.json()) as Record<string, unknown>,
      };
    };
    const answers: Awaited<ReturnType<typeof ask>>[] = [];
    // Until the limit is met, however slow the machine is: the bucket gains ten requests a second.
    for (let round = 0; round < 100 && answers.every(({ status }) => status === 200); round += 1) {
      const keys = Array.from({ length: 60 }, (_, n) => keyOf('request-hog', n));
      answers.push(...(await Promise.all(keys.map(ask))));
    }
    const refused = answers.filter(({ status }) => status === 429);
    tally.ok(refused.length > 0, `none of ${answers.length} requests of 60 keys was refused`);
    tally.ok(answers.length - refused.length >= 600, 'fewer than 600 requests were allowed');
    for (const { body, headers } of refused.slice(0, 20)) {
      tally.equal(
        { code: body.code, setting: body.setting, limit: body.limit },
        { code: 'tenant_rate_limited', setting: 'TENANT_REQUESTS_PER_MINUTE', limit: 600 },
      );
      tally.ok(Number(headers.get('retry-after')) >= 1, 'a refusal lacks Retry-After');
    }
    tally.equal((await ask(keyOf('request-neighbour', 1))).status, 200);
  });
});
