import pino from 'pino';
import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { newTenant, useDatabase } from '../../../test/support/worlds/database.ts';
import { eventually } from '../../../test/support/worlds/kernel.ts';
import { newId } from '../../lib/ids.ts';
import { Database } from '../../lib/postgres/db.ts';
import { CircuitBreakers } from './circuit-breaker.ts';
import type { Breaker, BreakerAnswer } from './types.ts';

const database = useDatabase();
const policy = { threshold: 3, coolDownMs: 40, maxCoolDownMs: 100 };

function breakers(options: { probeMs?: number; db?: Database } = {}): CircuitBreakers {
  return new CircuitBreakers({ db: database.db, logger: pino({ level: 'silent' }), ...options });
}

async function fail(dependency: string, times: number, how = policy): Promise<void> {
  for (let n = 0; n < times; n += 1) await breakers().recordFailure(dependency, 'it answers 500', how);
}

async function rowOf(dependency: string): Promise<Breaker> {
  const found = (await breakers().list()).find((breaker) => breaker.dependency === dependency);
  if (!found) throw new Error(`There is no breaker ${dependency}`);
  return found;
}

/** The cool-down as it was written: from the last change to the next probe. Both looked at the clock themselves. */
async function coolDownSecondsOf(dependency: string): Promise<number> {
  const { probeAt, updatedAt } = await rowOf(dependency);
  return Math.round(((probeAt?.getTime() ?? 0) - updatedAt.getTime()) / 10_000) * 10;
}

async function endCoolDown(dependency: string): Promise<void> {
  await database.owner('update circuit_breakers set probe_at = clock_timestamp() where dependency = $1', [
    dependency,
  ]);
}

async function probe(dependency: string): Promise<void> {
  let answer: BreakerAnswer | undefined;
  await eventually(async () => {
    answer = await breakers().check(dependency);
    return answer.allowed;
  }, 'the cool-down passes and a probe is given');
  expect(answer).toEqual({ allowed: true, isProbe: true, hasFailed: true });
}

describe('a circuit breaker', () => {
  test('lets calls through as long as fewer than the threshold fail in a row', async () => {
    const name = newId();
    expect(await breakers().check(name)).toEqual({ allowed: true, isProbe: false, hasFailed: false });
    await fail(name, 2);
    expect(await breakers().check(name)).toEqual({ allowed: true, isProbe: false, hasFailed: true });
    await breakers().recordSuccess(name);
    expect(await breakers().check(name)).toEqual({ allowed: true, isProbe: false, hasFailed: false });
    await fail(name, 2);
    expect(await breakers().check(name)).toEqual({ allowed: true, isProbe: false, hasFailed: true });
  });

  test('opens with the threshold-th failure in a row, whoever reports it', async () => {
    const name = newId();
    const other = new Database({ url: database.appUrl, applicationName: 'other', maxConnections: 5 });
    const how = { ...policy, coolDownMs: 30_000, maxCoolDownMs: 60_000 };
    await Promise.all(
      Array.from({ length: 3 }, (_, index) =>
        breakers(index === 0 ? { db: other } : {}).recordFailure(name, 'it answers 500', how),
      ),
    );
    await other.close();
    const answer = await breakers().check(name);
    expect(answer).toMatchObject({ allowed: false });
    if (!answer.allowed) expect(answer.retryInMs).toBeGreaterThan(20_000);
    expect(await rowOf(name)).toMatchObject({ state: 'open', openedCount: 1, reason: 'it answers 500' });
  });

  test('opens after five failures for thirty seconds, unless told otherwise', async () => {
    const name = newId();
    for (let n = 0; n < 4; n += 1) await breakers().recordFailure(name, 'timeout');
    expect((await rowOf(name)).state).toBe('closed');
    await breakers().recordFailure(name, 'timeout');
    expect((await rowOf(name)).state).toBe('open');
    expect(await coolDownSecondsOf(name)).toBe(30);
  });

  test('gives a probe that was returned to the next caller, and to one only', async () => {
    const name = newId();
    await fail(name, 3);
    await probe(name);
    expect(await breakers().check(name)).toMatchObject({ allowed: false });
    await breakers().returnProbe(name);
    expect(await breakers().check(name)).toEqual({ allowed: true, isProbe: true, hasFailed: true });
    expect(await breakers().check(name)).toMatchObject({ allowed: false });
    await breakers().recordSuccess(name);
    await breakers().returnProbe(name);
    expect(await rowOf(name)).toMatchObject({ state: 'closed', probeAt: null });
  });

  test('opens with the first failure when the threshold is one', async () => {
    const name = newId();
    await fail(name, 1, { ...policy, threshold: 1 });
    expect(await rowOf(name)).toMatchObject({ state: 'open', openedCount: 1 });
  });

  test('gives one probe to thirty callers that come at once; the others wait', async () => {
    const name = newId();
    const other = new Database({ url: database.appUrl, applicationName: 'other', maxConnections: 10 });
    await fail(name, 3);
    await eventually(
      async () => ((await rowOf(name)).probeAt?.getTime() ?? Infinity) < Date.now() - 5,
      'the cool-down passes',
    );
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, index) => breakers(index % 2 ? { db: other } : {}).check(name)),
    );
    await other.close();
    expect(answers.filter((answer) => answer.allowed)).toEqual([
      { allowed: true, isProbe: true, hasFailed: true },
    ]);
    for (const answer of answers) {
      if (answer.allowed) continue;
      expect(answer.retryInMs).toBeGreaterThan(0);
      expect(answer.retryInMs).toBeLessThanOrEqual(5_000);
    }
  });

  test('closes when the probe succeeds, and begins to count anew', async () => {
    const name = newId();
    await fail(name, 3);
    await probe(name);
    await breakers().recordSuccess(name);
    expect(await rowOf(name)).toMatchObject({ state: 'closed', failures: 0, openedCount: 0, reason: null });
    await fail(name, 2);
    expect(await breakers().check(name)).toEqual({ allowed: true, isProbe: false, hasFailed: true });
  });

  test('opens again with a doubled cool-down when the probe fails, up to the longest one', async () => {
    const name = newId();
    const how = { ...policy, coolDownMs: 40_000, maxCoolDownMs: 100_000 };
    await fail(name, 3, how);
    const coolDowns = [await coolDownSecondsOf(name)];
    for (let n = 0; n < 3; n += 1) {
      await endCoolDown(name);
      await probe(name);
      await fail(name, 1, how);
      coolDowns.push(await coolDownSecondsOf(name));
    }
    expect(coolDowns).toEqual([40, 80, 100, 100]);
    await endCoolDown(name);
    await probe(name);
    await breakers().recordSuccess(name);
    await fail(name, 3, how);
    expect(await coolDownSecondsOf(name)).toBe(40);
  });

  test('gives the probe again when its caller has died', async () => {
    const name = newId();
    await fail(name, 3);
    await eventually(
      async () => (await breakers({ probeMs: 50 }).check(name)).allowed,
      'the cool-down passes and a probe is given',
    );
    expect((await rowOf(name)).state).toBe('probing');
    await probe(name);
  });

  test('is moved neither way by calls that began before it opened', async () => {
    const name = newId();
    const how = { ...policy, coolDownMs: 30_000, maxCoolDownMs: 60_000 };
    await fail(name, 3, how);
    const opened = await rowOf(name);
    await fail(name, 5, how);
    await breakers().recordSuccess(name);
    expect(await rowOf(name)).toEqual(opened);
  });
});

test('the gauge shows which dependencies are held back, and survives a database that is away', async () => {
  const [well, bad] = [newId(), newId()];
  await fail(well, 1);
  await fail(bad, 3, { ...policy, coolDownMs: 30_000, maxCoolDownMs: 30_000 });
  const registry = new Registry();
  breakers().installGauge(registry);
  const text = await registry.metrics();
  expect(text).toContain(`sluice_breaker_open{dependency="${well}"} 0`);
  expect(text).toContain(`sluice_breaker_open{dependency="${bad}"} 1`);

  const gone = new Database({ url: database.appUrl, applicationName: 'gone', maxConnections: 1 });
  await gone.close();
  const broken = new Registry();
  breakers({ db: gone }).installGauge(broken);
  expect(await broken.metrics()).toContain('sluice_breaker_open');
});

describe('what a tenant has configured', () => {
  const long = { ...policy, coolDownMs: 30_000, maxCoolDownMs: 30_000 };

  async function newDependencies() {
    const name = `embedder ${newId()}`;
    const [one, other] = [await newTenant(database), await newTenant(database)];
    return { name, one: { tenantId: one, name }, other: { tenantId: other, name } };
  }

  test('has a breaker of that tenant’s own, beside the shared one of the same name', async () => {
    const { name, one, other } = await newDependencies();
    for (let n = 0; n < 3; n += 1) await breakers().recordFailure(one, 'it answers 500', long);
    expect((await breakers().check(one)).allowed).toBe(false);
    expect((await breakers().check(other)).allowed).toBe(true);
    expect((await breakers().check(name)).allowed).toBe(true);
    await breakers().recordSuccess(other);
    expect((await breakers().check(one)).allowed).toBe(false);
    const registry = new Registry();
    breakers().installGauge(registry);
    expect(await registry.metrics()).toContain(
      `sluice_breaker_open{dependency="${name}",tenant="${one.tenantId}"} 1`,
    );
  });

  test('is forgotten when nobody has called it for a week, and with its tenant', async () => {
    const { one, other } = await newDependencies();
    for (const each of [one, other]) {
      for (let n = 0; n < 3; n += 1) await breakers().recordFailure(each, 'it answers 500', long);
    }
    const left = async () =>
      (await breakers().list()).filter(
        ({ tenantId }) => tenantId !== null && [one, other].some((each) => each.tenantId === tenantId),
      ).length;
    await breakers().purgeForgotten(100);
    expect(await left()).toBe(2);
    await database.owner(
      `update circuit_breakers set updated_at = now() - interval '8 days' where tenant_id = $1`,
      [one.tenantId],
    );
    await breakers().purgeForgotten(100);
    expect(await left()).toBe(1);
    await database.owner('delete from tenants where tenant_id = $1', [other.tenantId]);
    expect(await left()).toBe(0);
  });
});

test('dependencies that have been well for a day are forgotten, open ones never', async () => {
  const [well, bad] = [newId(), newId()];
  await fail(well, 1);
  await fail(bad, 3);
  await database.owner(
    `update circuit_breakers set updated_at = now() - interval '25 hours' where dependency = any($1)`,
    [[well, bad]],
  );
  expect(await breakers().purgeForgotten(100)).toBe(1);
  expect((await rowOf(bad)).state).toBe('open');
});
