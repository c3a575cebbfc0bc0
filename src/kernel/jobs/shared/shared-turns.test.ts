import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { eventually, testKernel } from '../../../../test/support/worlds/kernel.ts';
import { probePipeline, probeTable } from '../../../../test/support/worlds/probe-pipeline.ts';
import { newId } from '../../../lib/ids.ts';
import { dispatch } from '../dispatch/service.ts';
import type { Kernel } from '../kernel.ts';
import type { Pipeline } from '../types.ts';
import { SharedTurns } from './shared-turns.ts';

describe('turns of shared jobs', () => {
  const crowded = () => true;

  test('a job that takes a turn is spared, and stays so until another was taken', () => {
    const turns = new SharedTurns();
    const first = turns.begin('a', crowded);
    turns.begin('b', crowded);
    expect(turns.spared).toEqual(['a', 'b']);
    first.end(true);
    expect([turns.running, turns.spared]).toEqual([1, ['b', 'a']]);
    turns.forgetRested();
    expect(turns.spared).toEqual(['b']);
  });

  test('a job that has nothing left to do is not spared any more', () => {
    const turns = new SharedTurns();
    turns.begin('a', crowded).end(false);
    expect(turns.spared).toEqual([]);
  });

  test('a further turn waits until the newest one has run for a moment', () => {
    const turns = new SharedTurns();
    expect(turns.waitMs(performance.now())).toBe(0);
    const turn = turns.begin('a', crowded);
    expect(turns.waitMs(performance.now())).toBeGreaterThan(0);
    expect(turns.waitMs(performance.now() + 10)).toBe(0);
    turn.end(true);
    expect(turns.waitMs(performance.now())).toBe(0);
  });

  test('the newest of several turns of one job yields, and only while no slot is free', () => {
    const turns = new SharedTurns();
    let isCrowded = false;
    const [first, second] = [turns.begin('a', () => isCrowded), turns.begin('a', () => isCrowded)];
    expect([first.shouldYield(), second.shouldYield()]).toEqual([false, false]);
    isCrowded = true;
    expect([first.shouldYield(), second.shouldYield()]).toEqual([false, true]);
    second.end(true);
    expect(first.shouldYield()).toBe(false);
  });

  test('a job with several turns yields to jobs that have one, whichever began last', () => {
    const turns = new SharedTurns();
    const busy = [turns.begin('busy', crowded), turns.begin('busy', crowded), turns.begin('busy', crowded)];
    const single = turns.begin('single', crowded);
    expect([...busy, single].map((turn) => turn.shouldYield())).toEqual([false, false, true, false]);
  });
});

describe('a worker with shared jobs', () => {
  const database = useDatabase();
  const kernels: Kernel[] = [];
  /** The subject of each turn that runs. */
  const turns: string[] = [];
  let mostTurns = 0;
  /** Whether turns wait for a slow provider, deaf to all else, or end when they are asked to. */
  let areDeaf = true;
  let isOver = false;

  const takeTurn: Pipeline['takeTurn'] = async ({ job, shouldYield }) => {
    turns.push(job.subjectId);
    mostTurns = Math.max(mostTurns, turns.length);
    await eventually(async () => isOver || (!areDeaf && shouldYield()), 'the turn ends', 80_000);
    turns.splice(turns.indexOf(job.subjectId), 1);
    return { processed: 1, state: 'more' };
  };

  beforeAll(() => database.owner(probeTable));
  afterEach(async () => {
    isOver = true;
    await Promise.all(kernels.splice(0).map((kernel) => kernel.stop(1_000)));
    await database.owner('delete from ingestion_jobs; delete from workers');
    mostTurns = 0;
    areDeaf = true;
    isOver = false;
  });

  function newWorker(): Kernel {
    const pipelines = [probePipeline(), { ...probePipeline({}, 'shared'), takeTurn }];
    const kernel = testKernel(database, { concurrency: 4, pipelines });
    kernels.push(kernel);
    return kernel;
  }

  async function newSharedJob(kernel: Kernel, tenantId: string): Promise<string> {
    const subjectId = newId();
    const job = { pipeline: 'shared', subjectId, maxRetries: 5, createdBy: 'tester', shared: true };
    await dispatch(kernel, tenantId, job);
    return subjectId;
  }

  /** Jobs of the same tenant and of another one, by turns: each ends before the next is made. */
  async function expectOthersToRun(kernel: Kernel, tenantId: string): Promise<void> {
    const other = await newTenant(database);
    for (const owner of [tenantId, other, tenantId, other]) {
      const subject = { pipeline: 'probe', subjectId: newId(), maxRetries: 5, createdBy: 'tester' };
      const { jobId } = await dispatch(kernel, owner, subject);
      const isDone = async () => {
        const [row] = await database.owner<{ status: string }>(
          'select status from ingestion_jobs where job_id = $1',
          [jobId],
        );
        return row?.status === 'success';
      };
      await eventually(isDone, 'another job starts at once', 10_000);
    }
  }

  test('lets one that is alone use all slots but one, and starts other jobs in that one', async () => {
    const kernel = newWorker();
    await kernel.start({ work: true });
    const tenantId = await newTenant(database);
    const subjectId = await newSharedJob(kernel, tenantId);
    await eventually(async () => turns.length === 3, 'three turns run');
    await expectOthersToRun(kernel, tenantId);
    expect(turns).toEqual([subjectId, subjectId, subjectId]);
    expect(mostTurns).toBe(3);
  });

  test('gives several of them a turn each, although the first one had the slots', async () => {
    areDeaf = false;
    const kernel = newWorker();
    await kernel.start({ work: true });
    const tenantId = await newTenant(database);
    const subjects = [await newSharedJob(kernel, tenantId)];
    await eventually(async () => turns.length === 3, 'the first one has three turns');
    for (const owner of [tenantId, await newTenant(database)]) {
      subjects.push(await newSharedJob(kernel, owner));
      const allRun = async () => subjects.every((subject) => turns.includes(subject));
      await eventually(allRun, `${subjects.length} shared jobs run`, 10_000);
    }
    await expectOthersToRun(kernel, tenantId);
  });

  test('starts other jobs while several shared ones that wait for a provider have a turn each', async () => {
    const kernel = newWorker();
    const tenantId = await newTenant(database);
    const subjects = [await newSharedJob(kernel, tenantId), await newSharedJob(kernel, tenantId)];
    await kernel.start({ work: true });
    await eventually(async () => turns.length >= 3, 'three turns run');
    expect(new Set(turns)).toEqual(new Set(subjects));
    await expectOthersToRun(kernel, tenantId);
    expect(mostTurns).toBe(3);
  });
});
