import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type JobStore, leaseMs } from './job-store.ts';
import { failure, Hands, rescueRules, retryIn } from './store-hands.ts';
import { describeLanes, describeTurns, describeWaitingLanes } from './store-turns.ts';

/** What every job store has to do. `makeStore` returns an empty one; `close` is called after each test. */
export function describeStore(
  name: string,
  makeStore: () => Promise<{ store: JobStore; close: () => Promise<void> }>,
): void {
  describe(name, () => {
    const held: { hands?: Hands; close?: () => Promise<void> } = {};
    beforeEach(async () => {
      const { store, close } = await makeStore();
      held.hands = new Hands(store);
      held.close = close;
      await store.addTenant('tenant-a');
      await store.addTenant('tenant-b');
    });
    afterEach(() => held.close?.());
    const hands = () => held.hands as Hands;
    describe('subjects', () => describeSubjects(hands));
    describe('leases', () => describeLeases(hands));
    describe('retries', () => describeRetries(hands));
    describe('rescues', () => describeRescues(hands));
    describe('last strikes', () => describeLastStrikes(hands));
    describe('turns and limits', () => describeTurns(hands));
    describe('lanes', () => describeLanes(hands));
    describe('lanes that wait', () => describeWaitingLanes(hands));
    describe('fences', () => describeFences(hands));
  });
}

function describeSubjects(hands: () => Hands): void {
  const subject = { tenantId: 'tenant-a', pipeline: 'probe', subjectId: 's' } as const;

  test('a subject has one active job, and a second one is refused until it has ended', async () => {
    const { store } = hands();
    await hands().make('s');
    expect(await store.dispatch(subject)).toEqual({ refused: 'job_already_active' });
    const lease = await hands().claimOne('w');
    expect(await store.dispatch(subject)).toEqual({ refused: 'job_already_active' });
    expect(await store.settle({ ...lease, outcome: { type: 'done' }, step: 1 })).toMatchObject({
      status: 'success',
    });
    expect(await store.dispatch(subject)).toEqual({ jobId: 'job-0002' });
  });

  test('a canceled job refuses its subject until its cleanup is done', async () => {
    const { store } = hands();
    const key = await hands().make('s');
    const lease = await hands().claimOne('w');
    expect(await store.control('cancel', key)).toEqual({ status: 'canceled' });
    expect(await store.dispatch(subject)).toEqual({ refused: 'cleanup_in_progress' });
    expect(await store.settle({ ...lease, outcome: { type: 'done' } })).toBeNull();
    const cleanup = await hands().claimOne('w');
    expect(cleanup).toMatchObject({ was: 'canceled', status: 'canceled' });
    expect(await store.settle({ ...cleanup, outcome: { type: 'done' } })).toEqual({
      status: 'canceled',
      cleanupOpen: false,
    });
    expect(await store.dispatch(subject)).toEqual({ jobId: 'job-0002' });
  });

  test('a job that needs no cleanup is canceled for good at once', async () => {
    const key = await hands().make('s', { pipeline: 'plain' });
    await hands().claimOne('w');
    await hands().store.control('cancel', key);
    expect(await hands().job(key)).toMatchObject({ status: 'canceled', cleanupOpen: false, leasedBy: null });
    expect(await hands().claim('w')).toEqual([]);
  });

  test('a dead letter is requeued once, and nothing else is', async () => {
    const { store } = hands();
    const key = await hands().make('s');
    expect(await store.requeue(key)).toEqual({ refused: 'not_a_dead_letter' });
    await store.settle({ ...(await hands().claimOne('w')), outcome: { type: 'dead', failure } });
    expect(await store.requeue(key)).toEqual({ jobId: 'job-0002' });
    expect(await store.requeue(key)).toEqual({ refused: 'already_requeued' });
    expect(await hands().job({ jobId: 'job-0002' })).toMatchObject({
      requeuedFrom: key.jobId,
      status: 'queued',
    });
  });

  test('an ended job cannot be paused, resumed or canceled', async () => {
    const { store } = hands();
    const key = await hands().make('s');
    await store.settle({ ...(await hands().claimOne('w')), outcome: { type: 'done' }, step: 1 });
    for (const move of ['pause', 'resume', 'cancel'] as const) {
      expect(await store.control(move, key), move).toEqual({ refused: 'illegal_transition' });
    }
  });
}

function describeFences(hands: () => Hands): void {
  test('every claim has a newer epoch, and an older one can do nothing', async () => {
    const { store } = hands();
    await hands().worker('w');
    const key = await hands().make('s');
    const old = await hands().claimOne('w');
    await store.turnClock(leaseMs + 1);
    await store.rescue(rescueRules);
    const lease = await hands().claimOne('v');
    expect(lease.leaseEpoch).toBeGreaterThan(old.leaseEpoch);
    expect(await store.save(old, 1)).toBe(false);
    expect(await store.settle({ ...old, outcome: { type: 'done' }, step: 1 })).toBeNull();
    expect(await store.renew('w', [old])).toEqual([]);
    expect(await store.release('w', [old])).toBe(0);
    expect(await hands().job(key)).toMatchObject({ leasedBy: 'v', step: 0, effects: [], status: 'running' });
    expect(await store.save(lease, 1)).toBe(true);
  });

  test('a released lease cannot be used again', async () => {
    const { store } = hands();
    await hands().make('s');
    const lease = await hands().claimOne('w');
    expect(await store.release('v', [lease])).toBe(0);
    expect(await store.release('w', [lease])).toBe(1);
    expect(await store.save(lease, 1)).toBe(false);
    expect(await store.settle({ ...lease, outcome: { type: 'continue' }, step: 1 })).toBeNull();
  });

  test('after a failover that lost a claim, the same epoch in another worker’s hands is refused', async () => {
    const { store } = hands();
    const key = await hands().make('s');
    const lease = await hands().claimOne('w');
    // What `v` was given for this job before the failover; the epoch was handed out again.
    const lost = { ...lease, leasedBy: 'v' };
    expect(await store.save(lost, 1)).toBe(false);
    expect(await store.settle({ ...lost, outcome: { type: 'done' }, step: 1 })).toBeNull();
    expect(await store.renew('v', [lost])).toEqual([]);
    expect(await store.release('v', [lost])).toBe(0);
    const expected = {
      leasedBy: 'w',
      status: 'running',
      step: 0,
      effects: [],
      leaseExpiresAtMs: 1 + leaseMs,
    };
    expect(await hands().job(key)).toMatchObject(expected);
    expect(await store.settle({ ...lease, outcome: { type: 'done' }, step: 1 })).toMatchObject({
      status: 'success',
    });
  });
}

function describeLeases(hands: () => Hands): void {
  test('heartbeats and writes prolong a lease', async () => {
    const { store } = hands();
    await hands().worker('w');
    const key = await hands().make('s');
    const lease = await hands().claimOne('w');
    await store.turnClock(leaseMs - 1);
    expect(await store.renew('w', [lease])).toEqual([{ jobId: key.jobId, leaseEpoch: 1, status: 'running' }]);
    await store.turnClock(leaseMs - 1);
    expect(await store.save(lease, 1)).toBe(true);
    await store.turnClock(leaseMs - 1);
    expect((await store.rescue(rescueRules)).jobs).toEqual([]);
    await store.turnClock(2);
    expect((await store.rescue(rescueRules)).jobs).toMatchObject([{ cause: 'expiry', struck: false }]);
  });

  test('a paused job’s current slice may commit, and the next one waits until the job is resumed', async () => {
    const { store } = hands();
    const key = await hands().make('s');
    const lease = await hands().claimOne('w');
    expect(await store.control('pause', key)).toEqual({ status: 'paused' });
    expect(await store.renew('w', [lease])).toEqual([{ jobId: key.jobId, leaseEpoch: 1, status: 'paused' }]);
    expect(await store.settle({ ...lease, outcome: { type: 'continue' }, step: 1 })).toMatchObject({
      status: 'paused',
    });
    expect(await hands().claim('w')).toEqual([]);
    expect(await store.control('resume', key)).toEqual({ status: 'running' });
    expect(await hands().claimOne('w')).toMatchObject({ was: 'running', stepsDone: 1 });
  });
}

function describeRetries(hands: () => Hands): void {
  test('a retry waits until it is due and then starts another attempt', async () => {
    const { store } = hands();
    const key = await hands().make('s');
    await store.settle({ ...(await hands().claimOne('w')), outcome: retryIn(60_000) });
    expect(await hands().job(key)).toMatchObject({
      status: 'failed',
      retryCount: 1,
      errorCode: failure.code,
    });
    await store.turnClock(59_999);
    expect(await hands().claim('w')).toEqual([]);
    await store.turnClock(1);
    expect(await hands().claimOne('w')).toMatchObject({ was: 'failed', status: 'running', retryCount: 1 });
    const { events } = await hands().job(key);
    expect(events).toEqual(['job.queued', 'job.started', 'job.failed', 'job.retry', 'job.started']);
  });

  test('waiting uses no attempt', async () => {
    const { store } = hands();
    const key = await hands().make('s');
    await store.settle({ ...(await hands().claimOne('w')), outcome: { type: 'wait', delayMs: 5_000 } });
    expect(await hands().job(key)).toMatchObject({ status: 'running', retryCount: 0 });
    expect(await hands().claim('w')).toEqual([]);
    await store.turnClock(5_000);
    expect(await hands().claimOne('w')).toMatchObject({ was: 'running' });
  });

  test('a dispatch brings a retry forward, but never before the Retry-After', async () => {
    const { store } = hands();
    const soon = await hands().make('soon');
    await store.settle({ ...(await hands().claimOne('w')), outcome: retryIn(60_000) });
    const later = await hands().make('later');
    await store.settle({ ...(await hands().claimOne('w')), outcome: retryIn(60_000, true) });
    for (const { tenantId, jobId } of [soon, later]) {
      const subjectId = jobId === soon.jobId ? 'soon' : 'later';
      expect(await store.dispatch({ tenantId, pipeline: 'probe', subjectId })).toEqual({ jobId });
    }
    expect(await hands().claim('w', { limit: 2 })).toMatchObject([{ jobId: soon.jobId }]);
    await store.turnClock(60_000);
    expect(await hands().claim('w', { limit: 2 })).toMatchObject([{ jobId: later.jobId }]);
  });

  test('a paused job that waits for a retry still waits when it is resumed', async () => {
    const { store } = hands();
    const key = await hands().make('s');
    await store.settle({ ...(await hands().claimOne('w')), outcome: retryIn(60_000) });
    expect(await store.control('pause', key)).toEqual({ status: 'paused' });
    expect(await store.control('resume', key)).toEqual({ status: 'failed' });
    expect(await hands().claim('w')).toEqual([]);
  });
}

function describeRescues(hands: () => Hands): void {
  test('a worker that lost its lock loses its leases at once, and the job is struck', async () => {
    const { store } = hands();
    await hands().worker('w');
    const key = await hands().make('s');
    await hands().claimOne('w');
    expect(await store.rescue(rescueRules)).toEqual({ lost: [], jobs: [], hasStruck: false });
    await store.unlock('w');
    const rescued = { jobId: key.jobId, status: 'running', cause: 'lock', struck: true };
    expect(await store.rescue(rescueRules)).toEqual({ lost: ['w'], jobs: [rescued], hasStruck: true });
  });

  test('a struck job runs alone, and a worker that returns removes its strike', async () => {
    const { store } = hands();
    const key = await hands().make('s');
    await hands().dieWith('w');
    expect(await hands().claim('v')).toEqual([]);
    expect(await hands().job(key)).toMatchObject({ struckBy: ['w'] });
    await hands().worker('w');
    expect(await hands().job(key)).toMatchObject({ struckBy: [] });
    expect(await store.beat('w')).toEqual({ wasLost: false });
    expect(await hands().claimOne('v')).toMatchObject({ jobId: key.jobId });
  });

  test('of the jobs that wait to run alone, one that cannot start hides none behind it', async () => {
    const { store } = hands();
    await hands().make('1', { workspaceId: 'workspace-1' });
    await hands().dieWith('u');
    await store.turnClock(1);
    const other = await hands().make('1', { tenantId: 'tenant-b' });
    await hands().dieWith('v');
    await hands().make('2', { workspaceId: 'workspace-1' });
    await hands().claimOne('w');
    await store.setLimits('tenant-a', { concurrent_jobs_per_workspace: 1 });
    expect(await hands().claim('w', { struck: true })).toMatchObject([{ jobId: other.jobId }]);
    expect(await hands().claim('w', { struck: true })).toEqual([]);
  });

  test('progress clears strikes', async () => {
    const key = await hands().make('s');
    await hands().dieWith('u');
    const lease = await hands().claimOne('v', { struck: true });
    expect(await hands().store.save(lease, 1)).toBe(true);
    expect(await hands().job(key)).toMatchObject({ struckBy: [] });
  });

  test('a worker without a lock takes a strike only for silence, and its next heartbeat reports it', async () => {
    const { store } = hands();
    await hands().worker('w', 'expiry');
    await hands().make('s');
    await hands().claimOne('w');
    await store.turnClock(leaseMs + 1);
    expect((await store.rescue(rescueRules)).jobs).toMatchObject([{ cause: 'expiry', struck: true }]);
    expect(await store.beat('w')).toEqual({ wasLost: true });
    expect(await store.beat('nobody')).toBeNull();
  });
}

function describeLastStrikes(hands: () => Hands): void {
  test('the third dead worker makes a dead letter after it had time to return', async () => {
    const { store } = hands();
    const key = await hands().make('s');
    await hands().dieWith('u');
    await hands().dieWith('v', { struck: true });
    await hands().dieWith('w', { struck: true });
    expect(await hands().job(key)).toMatchObject({ status: 'running', leasedBy: 'w', struckBy: ['u', 'v'] });
    await store.turnClock(rescueRules.rejoinMs);
    expect((await store.rescue(rescueRules)).jobs).toMatchObject([{ status: 'dead_letter', struck: true }]);
    expect(await hands().job(key)).toMatchObject({ status: 'dead_letter', errorCode: 'worker_crashed' });
  });

  test('a process that is declared dead repeatedly counts once', async () => {
    const { store } = hands();
    const key = await hands().make('s');
    await hands().dieWith('w');
    // Its guard connection is gone, and it has not noticed yet.
    for (let n = 1; n <= 3; n += 1) {
      await hands().claimOne('w', { struck: true });
      await store.turnClock(rescueRules.rejoinMs + 1);
      expect((await store.rescue(rescueRules)).jobs).toMatchObject([{ status: 'running', struck: true }]);
    }
    expect(await hands().job(key)).toMatchObject({ struckBy: ['w'] });
  });

  test('a struck job that its living worker does not hold is taken back when its lease expires', async () => {
    const { store } = hands();
    const key = await hands().make('s');
    await hands().dieWith('u');
    await hands().dieWith('v', { struck: true });
    await hands().worker('w', 'expiry');
    await hands().claimOne('w', { struck: true });
    await store.turnClock(leaseMs + 1);
    await store.beat('w');
    expect((await store.rescue(rescueRules)).jobs).toMatchObject([{ status: 'running', struck: false }]);
    expect(await hands().job(key)).toMatchObject({ leasedBy: null, struckBy: ['u', 'v'] });
  });
}
