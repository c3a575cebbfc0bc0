import { expect, test } from 'vitest';
import { leaseMs } from './job-store.ts';
import { failure, type Hands, retryIn } from './store-hands.ts';

export function describeTurns(hands: () => Hands): void {
  test('a tenant with one job does not wait behind a tenant with many', async () => {
    for (const subject of ['1', '2', '3', '4']) await hands().make(subject);
    await hands().claim('w', { limit: 2 });
    await hands().make('1', { tenantId: 'tenant-b' });
    const turns = [await hands().claimOne('w'), await hands().claimOne('w')];
    expect(turns.map(({ tenantId }) => tenantId)).toEqual(['tenant-b', 'tenant-a']);
  });

  test('one claim is shared between the tenants', async () => {
    for (const subject of ['1', '2', '3']) await hands().make(subject);
    for (const subject of ['1', '2', '3']) await hands().make(subject, { tenantId: 'tenant-b' });
    const claimed = await hands().claim('w', { limit: 4 });
    expect(claimed.map(({ tenantId }) => tenantId).sort()).toEqual([
      'tenant-a',
      'tenant-a',
      'tenant-b',
      'tenant-b',
    ]);
    const next = [await hands().claimOne('w'), await hands().claimOne('w')];
    expect(next.map(({ tenantId }) => tenantId).sort()).toEqual(['tenant-a', 'tenant-b']);
  });

  test('started jobs go before queued ones', async () => {
    const first = await hands().make('1');
    await hands().make('2');
    await hands().store.settle({ ...(await hands().claimOne('w')), outcome: { type: 'continue' }, step: 1 });
    expect(await hands().claimOne('w')).toMatchObject({ jobId: first.jobId, was: 'running' });
  });

  test('a tenant has no more leases than its limits allow, in all and per workspace', async () => {
    const { store } = hands();
    for (const subject of ['1', '2', '3']) await hands().make(subject, { workspaceId: 'workspace-1' });
    await hands().make('4', { workspaceId: 'workspace-2' });
    await store.setLimits('tenant-a', { concurrent_jobs: 3, concurrent_jobs_per_workspace: 1 });
    const claimed = [
      ...(await hands().claim('w')),
      ...(await hands().claim('w')),
      ...(await hands().claim('w')),
    ];
    expect(claimed.map(({ jobId }) => jobId)).toEqual(['job-0001', 'job-0004']);
    await store.setLimits('tenant-a', { concurrent_jobs: 3 });
    expect(await hands().claim('w', { limit: 5 })).toHaveLength(1);
    expect(await hands().claim('w')).toEqual([]);
  });
}

export function describeLanes(hands: () => Hands): void {
  test('the pipelines of a tenant take turns', async () => {
    for (const tenantId of ['tenant-a', 'tenant-b']) {
      for (const subject of ['1', '2', '3', '4']) {
        await hands().make(subject, { tenantId, pipeline: 'plain' });
        await hands().make(subject, { tenantId, pipeline: 'probe' });
      }
    }
    const taken: string[] = [];
    for (let n = 1; n <= 8; n += 1) taken.push(await hands().laneOf(await hands().claimOne('w')));
    expect(taken.filter((lane) => lane === 'tenant-a plain')).toHaveLength(2);
    expect(taken.filter((lane) => lane === 'tenant-a probe')).toHaveLength(2);
    expect(taken.filter((lane) => lane === 'tenant-b plain')).toHaveLength(2);
  });

  test('a lane without work leaves the line within a second of the last word of work', async () => {
    const { store } = hands();
    for (const subject of ['1', '2']) {
      await hands().make(subject);
      await hands().claim('w', { limit: 2 });
    }
    await store.turnClock(1_000);
    expect(await hands().claim('w')).toEqual([]);
    expect((await store.snapshot()).lanes).toMatchObject([{ isDue: false, nextDueMs: null }]);
  });
}

export function describeWaitingLanes(hands: () => Hands): void {
  test('a tenant at its limit goes on as soon as one of its jobs has ended', async () => {
    const { store } = hands();
    await store.setLimits('tenant-a', { concurrent_jobs: 1 });
    await hands().make('1');
    const second = await hands().make('2', { pipeline: 'plain' });
    const lease = await hands().claimOne('w', { pipelines: ['probe'] });
    expect(await hands().claim('w')).toEqual([]);
    await store.settle({ ...lease, outcome: { type: 'done' }, step: 1 });
    expect(await hands().claimOne('w')).toMatchObject({ jobId: second.jobId });
  });

  test('a lease that has run out takes no room, but the tenant may wait a second for it', async () => {
    const { store } = hands();
    await store.setLimits('tenant-a', { concurrent_jobs: 1 });
    await hands().make('1');
    const second = await hands().make('2');
    await hands().claimOne('w');
    await store.turnClock(leaseMs - 1);
    expect(await hands().claim('w')).toEqual([]);
    await store.turnClock(1_000);
    expect(await hands().claimOne('w')).toMatchObject({ jobId: second.jobId });
  });

  test('a retry that waits for its subject does not cost its tenant’s other pipelines their turns', async () => {
    const { store } = hands();
    const dead = await hands().make('1', { pipeline: 'plain' });
    await store.settle({ ...(await hands().claimOne('w')), outcome: { type: 'dead', failure } });
    await hands().make('1', { pipeline: 'plain' });
    await store.settle({ ...(await hands().claimOne('w')), outcome: retryIn(0) });
    // The requeued job is active and paused: the retry cannot start before it has ended.
    const requeued = await store.requeue(dead);
    if ('refused' in requeued) throw new Error(`The requeue was refused: ${requeued.refused}`);
    await store.control('pause', { ...dead, ...requeued });
    await store.addTenant('tenant-c');
    for (const tenantId of ['tenant-a', 'tenant-b', 'tenant-c']) {
      for (const subject of ['1', '2', '3', '4']) await hands().make(subject, { tenantId });
    }
    const turns: string[] = [];
    for (let n = 1; n <= 9; n += 1) {
      // Long enough that the retry is looked at anew each time.
      await store.turnClock(250);
      turns.push((await hands().claimOne('w')).tenantId);
    }
    expect(turns.filter((tenantId) => tenantId === 'tenant-a')).toHaveLength(3);
  });
}
