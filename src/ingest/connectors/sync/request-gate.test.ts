import { describe, expect, test } from 'vitest';
import { RequestGate } from './request-gate.ts';

function gateAt(options: { concurrency: number; perSecond: number }) {
  const clock = { ms: 0 };
  const gate = new RequestGate({ ...options, nowMs: () => clock.ms });
  return { gate, clock };
}

describe('the gate to Airbyte', () => {
  test('lets no more in than may be inside, and the next when one has left', () => {
    const { gate, clock } = gateAt({ concurrency: 2, perSecond: 100 });
    expect([gate.enter(), gate.enter()]).toEqual([{ granted: true }, { granted: true }]);
    clock.ms = 1_000;
    expect(gate.enter()).toMatchObject({ granted: false });
    gate.leave();
    expect(gate.enter()).toEqual({ granted: true });
  });

  test('starts no more per second than allowed, however fast they leave', () => {
    const { gate, clock } = gateAt({ concurrency: 4, perSecond: 20 });
    let granted = 0;
    for (clock.ms = 0; clock.ms < 10_000; clock.ms += 1) {
      if (!gate.enter().granted) continue;
      granted += 1;
      gate.leave();
    }
    expect(granted).toBeGreaterThan(195);
    expect(granted).toBeLessThanOrEqual(204);
  });

  test('tells those whom it turns away to come back one after the other', () => {
    const { gate } = gateAt({ concurrency: 1, perSecond: 10 });
    gate.enter();
    const waits = Array.from({ length: 5 }, () => gate.enter());
    expect(waits).toEqual([100, 200, 300, 400, 500].map((retryInMs) => ({ granted: false, retryInMs })));
  });

  test('sends nobody away for longer than five minutes', () => {
    const { gate } = gateAt({ concurrency: 1, perSecond: 1 });
    const waits = Array.from({ length: 5_000 }, () => gate.enter());
    for (const wait of waits) if (!wait.granted) expect(wait.retryInMs).toBeLessThanOrEqual(300_000);
  });

  test('is closed for all when Airbyte asks for silence', () => {
    const { gate, clock } = gateAt({ concurrency: 4, perSecond: 100 });
    gate.closeFor(2_000);
    expect(gate.enter()).toEqual({ granted: false, retryInMs: 2_010 });
    clock.ms = 1_999;
    expect(gate.enter()).toMatchObject({ granted: false });
    clock.ms = 2_000;
    expect(gate.enter()).toEqual({ granted: true });
  });
});
