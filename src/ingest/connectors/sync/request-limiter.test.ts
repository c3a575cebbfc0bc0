import { describe, expect, test } from 'vitest';
import { RequestLimiter } from './request-limiter.ts';

function limiterAt(options: { concurrency: number; perSecond: number }) {
  const clock = { ms: 0 };
  const requests = new RequestLimiter({ ...options, nowMs: () => clock.ms });
  return { requests, clock };
}

describe('the request limiter for Airbyte', () => {
  test('lets in no more at a time than allowed, and the next when one has left', () => {
    const { requests, clock } = limiterAt({ concurrency: 2, perSecond: 100 });
    expect([requests.enter(), requests.enter()]).toEqual([{ granted: true }, { granted: true }]);
    clock.ms = 1_000;
    expect(requests.enter()).toMatchObject({ granted: false });
    requests.leave();
    expect(requests.enter()).toEqual({ granted: true });
  });

  test('starts no more per second than allowed, however fast they leave', () => {
    const { requests, clock } = limiterAt({ concurrency: 4, perSecond: 20 });
    let granted = 0;
    for (clock.ms = 0; clock.ms < 10_000; clock.ms += 1) {
      if (!requests.enter().granted) continue;
      granted += 1;
      requests.leave();
    }
    expect(granted).toBeGreaterThan(195);
    expect(granted).toBeLessThanOrEqual(204);
  });

  test('tells callers that it turns away to come back one after the other', () => {
    const { requests } = limiterAt({ concurrency: 1, perSecond: 10 });
    requests.enter();
    const waits = Array.from({ length: 5 }, () => requests.enter());
    expect(waits).toEqual([100, 200, 300, 400, 500].map((retryInMs) => ({ granted: false, retryInMs })));
  });

  test('turns nobody away for longer than five minutes', () => {
    const { requests } = limiterAt({ concurrency: 1, perSecond: 1 });
    const waits = Array.from({ length: 5_000 }, () => requests.enter());
    for (const wait of waits) if (!wait.granted) expect(wait.retryInMs).toBeLessThanOrEqual(300_000);
  });

  test('closes for everybody when Airbyte asks to wait', () => {
    const { requests, clock } = limiterAt({ concurrency: 4, perSecond: 100 });
    requests.closeFor(2_000);
    expect(requests.enter()).toEqual({ granted: false, retryInMs: 2_010 });
    clock.ms = 1_999;
    expect(requests.enter()).toMatchObject({ granted: false });
    clock.ms = 2_000;
    expect(requests.enter()).toEqual({ granted: true });
  });
});
