import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import { useDatabase } from '../../../test/support/worlds/database.ts';
import { testElections } from '../../../test/support/worlds/elections.ts';
import { eventually } from '../../../test/support/worlds/kernel.ts';
import { newId } from '../../lib/ids.ts';
import { Database } from '../../lib/postgres/db.ts';
import type { Elections } from './elections.ts';
import type { Office } from './office.ts';

const database = useDatabase();

function stand(names: string[], db = database.db, registry = new Registry()) {
  const candidate = newId();
  const elections = testElections(db, registry, candidate);
  onTestFinished(() => elections.stop());
  const offices = names.map((name) => elections.office(name));
  elections.start();
  return { candidate, elections, offices, first: offices[0] as Office };
}

function holderOf(processes: { first: Office }[]) {
  return processes.find(({ first }) => first.isHeld);
}

async function untilOneHolds<Process extends { first: Office }>(processes: Process[]): Promise<Process> {
  await eventually(async () => holderOf(processes) !== undefined, 'an office is held');
  return holderOf(processes) as Process;
}

/** As a process that is killed or cut off: it neither renews nor resigns. */
async function silence(elections: Elections, db: Database): Promise<void> {
  await db.close();
  await elections.stop();
}

async function rowOf(office: string) {
  const rows = await database.owner<{ holder: string; term: string; isOver: boolean }>(
    'select holder, term, expires_at < clock_timestamp() as "isOver" from offices where office = $1',
    [office],
  );
  return rows[0];
}

test('one of many processes is elected, for all its offices, and the metric shows it', async () => {
  const registries = Array.from({ length: 5 }, () => new Registry());
  const names = ['metered-a', 'metered-b'];
  const processes = registries.map((registry) => stand(names, database.db, registry));
  const holder = await untilOneHolds(processes);
  await eventually(async () => processes.every(({ first }) => first.candidates === 5), 'all know of all');
  expect(processes.filter(({ first }) => first.isHeld)).toEqual([holder]);
  expect((await rowOf('metered-a'))?.holder).toBe(holder.candidate);
  const elected = await Promise.all(registries.map((registry) => registry.metrics()));
  expect(elected.filter((text) => text.includes('sluice_elected{office="metered-a"} 1'))).toHaveLength(1);
  expect(elected.filter((text) => text.includes('sluice_elected{office="metered-b"} 0'))).toHaveLength(4);
});

test('a process that stops hands its office over without waiting for its term', async () => {
  const processes = Array.from({ length: 3 }, () => stand(['handed-over']));
  const holder = await untilOneHolds(processes);
  await holder.elections.stop();
  expect(holder.first.isHeld).toBe(false);
  expect(await rowOf('handed-over')).toMatchObject({ term: '1', isOver: true });
  const next = await untilOneHolds(processes.filter((one) => one !== holder));
  expect(await rowOf('handed-over')).toMatchObject({ term: '2', holder: next.candidate });
});

test('the office of a process that no longer does its work goes to another one', async () => {
  const one = stand(['left', 'kept']);
  await untilOneHolds([one]);
  const end = one.first.whileHeld(() => () => {});
  const other = stand(['left']);
  end();
  await untilOneHolds([other]);
  expect(one.offices.map(({ isHeld }) => isHeld)).toEqual([false, true]);
});

test('a process that falls silent is replaced, and stops its work before its successor begins', async () => {
  const spans: { from: number; to: number }[] = [];
  const work = (office: Office) =>
    office.whileHeld(() => {
      const span = { from: performance.now(), to: Number.POSITIVE_INFINITY };
      spans.push(span);
      return () => {
        span.to = performance.now();
      };
    });
  const start = () => {
    const db = new Database({ url: database.appUrl, applicationName: 'silent', maxConnections: 1 });
    const process = { db, ...stand(['silent'], db) };
    work(process.first);
    return process;
  };
  const processes = Array.from({ length: 4 }, start);
  for (let round = 0; round < 3; round += 1) {
    const holder = await untilOneHolds(processes);
    processes.splice(processes.indexOf(holder), 1);
    // The term runs on although nothing can be asked any more.
    await holder.db.close();
    const startedAt = performance.now();
    await untilOneHolds(processes);
    console.log(`A silent holder was replaced after ${Math.round(performance.now() - startedAt)} ms`);
  }
  for (const { elections, db } of processes) await silence(elections, db);
  const ordered = spans.sort((a, b) => a.from - b.from);
  expect(ordered.length).toBeGreaterThanOrEqual(4);
  const overlaps = ordered.filter((span, n) => span.to > (ordered[n + 1]?.from ?? Number.POSITIVE_INFINITY));
  expect(overlaps).toEqual([]);
});

test('fifty idle processes ask the database about as often as ten would', async () => {
  let statements = 0;
  const db = new Database({
    ...{ url: database.appUrl, applicationName: 'idle fleet', maxConnections: 10 },
    onTransaction: () => {
      statements += 1;
    },
  });
  onTestFinished(() => db.close());
  const processes = Array.from({ length: 50 }, () => stand(['idle-a', 'idle-b', 'idle-c'], db));
  await eventually(async () => processes.every(({ first }) => first.candidates === 50), 'all know of all');
  const before = statements;
  await sleep(10_000);
  const asked = statements - before;
  console.log(`50 idle processes asked ${asked} times in 10 s`);
  // Fifty times a renewal, and ten looks a second.
  expect(asked).toBeLessThan(200);
  expect(asked).toBeGreaterThan(50);
  await Promise.all(processes.map(({ elections }) => elections.stop()));
});
