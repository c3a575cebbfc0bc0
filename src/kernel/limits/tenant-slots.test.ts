import { describe, expect, test } from 'vitest';
import { TenantSlots, type TenantSlotsOptions } from './tenant-slots.ts';

const slotsOf = (options: Partial<TenantSlotsOptions> = {}) =>
  new TenantSlots({ what: 'searches', setting: 'TENANT_CONCURRENT_SEARCHES', perTenant: 2, ...options });

/** Work that ends when it is told to, and the order in which work began. */
function workshop(slots: TenantSlots) {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const send = (tenantId: string, signal?: AbortSignal) =>
    slots.run(
      tenantId,
      () => {
        begun.push(tenantId);
        return new Promise<void>((resolve) => ends.push(resolve));
      },
      signal,
    );
  const finishOne = async () => {
    ends.shift()?.();
    await settled();
  };
  return { begun, send, finishOne };
}

/** Everything that only waits for promises has run after a turn of the event loop. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('a tenant', () => {
  test('with all its slots taken waits for its own work, and another tenant starts at once', async () => {
    const { begun, send, finishOne } = workshop(slotsOf());
    const all = [send('greedy'), send('greedy'), send('greedy'), send('quiet')];
    await settled();
    expect(begun).toEqual(['greedy', 'greedy', 'quiet']);
    await finishOne();
    expect(begun).toEqual(['greedy', 'greedy', 'quiet', 'greedy']);
    for (const _ of all) await finishOne();
    await Promise.all(all);
  });

  test('that sends one waits for one turn, however many another tenant has in the queue', async () => {
    const { begun, send, finishOne } = workshop(slotsOf({ perTenant: 8, total: 1 }));
    const all = [...Array.from({ length: 40 }, () => send('greedy')), send('quiet')];
    await settled();
    expect(begun).toEqual(['greedy']);
    await finishOne();
    expect(begun).toEqual(['greedy', 'quiet']);
    for (const _ of all) await finishOne();
    await Promise.all(all);
    expect(begun).toHaveLength(41);
  });

  test('with a full queue is refused with the limit, the setting and when to come back', async () => {
    const { send, finishOne } = workshop(slotsOf({ perTenant: 1, maxWaiting: 1 }));
    const all = [send('t'), send('t')];
    await expect(send('t')).rejects.toMatchObject({
      code: 'tenant_busy',
      retryAfterSeconds: 5,
      details: { setting: 'TENANT_CONCURRENT_SEARCHES', limit: 1 },
      message: expect.stringContaining('1 searches at work'),
    });
    for (const _ of all) await finishOne();
    await Promise.all(all);
  });
});

describe('work that waits', () => {
  test('too long is refused, and what waits behind it keeps its turn', async () => {
    const slots = slotsOf({ perTenant: 1, maxWaitMs: 20 });
    const release = await slots.take('t');
    await expect(slots.take('t')).rejects.toMatchObject({ code: 'tenant_busy' });
    const later = slots.take('t');
    release();
    (await later)();
    expect(slots.running).toBe(0);
  });

  test('leaves the queue when its client goes away, and never begins', async () => {
    const { begun, send, finishOne } = workshop(slotsOf({ perTenant: 1 }));
    const client = new AbortController();
    const first = send('t');
    const gone = send('t', client.signal);
    const last = send('t');
    client.abort(new Error('the client has gone'));
    await expect(gone).rejects.toThrow('the client has gone');
    await finishOne();
    await finishOne();
    await Promise.all([first, last]);
    expect(begun).toHaveLength(2);
  });

  test('does not begin for a client that has gone before it came to the queue', async () => {
    const { begun, send } = workshop(slotsOf());
    await expect(send('t', AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    expect(begun).toEqual([]);
  });
});

test('work that throws gives its slot back, and a slot is given back only once', async () => {
  const slots = slotsOf({ perTenant: 1 });
  await expect(slots.run('t', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  const release = await slots.take('t');
  release();
  release();
  expect(slots.running).toBe(0);
  const again = await slots.take('t');
  expect(slots.running).toBe(1);
  again();
});
