import { describe, expect, test } from 'vitest';
import { ProgressLine, renderProgress, shortBytes } from './progress.ts';

describe('a line of progress', () => {
  test('has a bar, share, count, rate and, once the rate is known, the time left', () => {
    const line = renderProgress({ done: 4_200, total: 10_000, elapsedMs: 12_000, width: 100 });
    expect(line).toBe(` 42% [${'#'.repeat(16)}${'-'.repeat(24)}] 4,200/10,000  350/s  ETA 0:17`);
  });

  test('does not predict the end in the first two seconds, nor at an unsteady rate', () => {
    const state = { done: 50, total: 100, width: 80 };
    expect(renderProgress({ ...state, elapsedMs: 1_999 })).not.toContain('ETA');
    expect(renderProgress({ ...state, elapsedMs: 2_000 })).toContain('ETA 0:02');
    expect(renderProgress({ ...state, elapsedMs: 9_000, isSteady: false })).not.toContain('ETA');
  });

  test('is never wider than allowed, and shows the share as long as it fits', () => {
    for (let width = 0; width <= 130; width += 1) {
      const line = renderProgress({ done: 123_456, total: 9_999_999, elapsedMs: 60_000, width });
      expect(line.length).toBeLessThanOrEqual(width);
      if (width >= 4) expect(line).toContain('1%');
    }
  });

  test('says 100 % only at the end, and never divides by zero', () => {
    const elapsedMs = 5_000;
    expect(renderProgress({ done: 9_999, total: 10_000, elapsedMs, width: 80 })).toContain(' 99%');
    expect(renderProgress({ done: 0, total: 0, elapsedMs, width: 80 })).toContain('100%');
    expect(renderProgress({ done: 12, total: 10, elapsedMs, width: 80 })).toContain('10/10');
    expect(renderProgress({ done: 0, total: 10, elapsedMs: 0, width: 80 })).toContain('0/10  0/s');
  });

  test('without a total shows count, rate and the elapsed time', () => {
    expect(renderProgress({ done: 1_200, total: null, elapsedMs: 3_700_000, width: 80 })).toBe(
      '1,200  0.3/s  1:01:40',
    );
  });
});

describe('bytes', () => {
  test('are shown in readable units, with rate and the time left', () => {
    const state = { unit: 'bytes', done: 42_000_000, total: 100_000_000, elapsedMs: 12_000 } as const;
    expect(renderProgress({ ...state, width: 100 })).toBe(
      ` 42% [${'#'.repeat(16)}${'-'.repeat(24)}] 42.0 MB/100.0 MB  3.5 MB/s  ETA 0:17`,
    );
    expect(renderProgress({ ...state, total: null, width: 100 })).toBe('42.0 MB  3.5 MB/s  0:12');
  });

  test('change the unit before they are rounded to a thousand of it', () => {
    const sizes = [0, 999, 1000, 999_949, 999_950, 1_500_000, 2e9, 3e15];
    expect(sizes.map(shortBytes)).toEqual([
      '0 B',
      '999 B',
      '1.0 kB',
      '999.9 kB',
      '1.0 MB',
      '1.5 MB',
      '2.0 GB',
      '3000.0 TB',
    ]);
  });
});

describe('a drawn line', () => {
  const erase = '\r\u001b[2K';

  function draw({ isTTY, isSilent = false }: { isTTY: boolean; isSilent?: boolean }) {
    const written: string[] = [];
    let nowMs = 0;
    const stream = { isTTY, columns: 60, write: (text: string) => written.push(text) };
    const progress = new ProgressLine({ stream, isSilent, nowMs: () => nowMs });
    return { written, progress, pass: (ms: number) => (nowMs += ms) };
  }

  test('is redrawn in place on a terminal, at most ten times a second, and removed at the end', () => {
    const { written, progress, pass } = draw({ isTTY: true });
    for (let done = 0; done <= 100; done += 1) {
      progress.update({ done, total: 100 });
      pass(10);
    }
    expect(written).toHaveLength(11);
    for (const text of written) expect(text.startsWith(erase)).toBe(true);
    expect(Math.max(...written.map((text) => text.length - erase.length))).toBeLessThan(60);
    expect(written.join('')).not.toContain('\n');
    progress.end();
    progress.end();
    expect(written.slice(11)).toEqual([erase]);
  });

  test('is a plain line every five seconds elsewhere', () => {
    const { written, progress, pass } = draw({ isTTY: false });
    for (let done = 0; done <= 120; done += 1) {
      progress.update({ done, total: 200 });
      pass(100);
    }
    progress.end();
    expect(written).toHaveLength(2);
    expect(written[0]).toMatch(/^25% .* 50\/200 {2}10\/s {2}ETA 0:15\n$/);
  });

  test('predicts the end again only when a changed rate has become steady', () => {
    const { written, progress, pass } = draw({ isTTY: true });
    const run = (perTick: number, ticks: number, from: number) => {
      for (let tick = 1; tick <= ticks; tick += 1) {
        pass(100);
        progress.update({ done: from + tick * perTick, total: 100_000 });
      }
      return written.at(-1);
    };
    expect(run(10, 100, 0)).toContain('ETA');
    expect(run(100, 40, 1_000)).not.toContain('ETA');
    expect(run(100, 100, 5_000)).toContain('1,000/s  ETA 1:25');
  });

  test('has a width even on a terminal that does not report its own', () => {
    const written: string[] = [];
    const stream = { isTTY: true, columns: 0, write: (text: string) => written.push(text) };
    new ProgressLine({ stream, unit: 'bytes' }).update({ done: 5_000, total: 10_000 });
    expect(written.join('')).toContain('5.0 kB/10.0 kB');
  });

  test('is silent when asked to be', () => {
    const { written, progress, pass } = draw({ isTTY: true, isSilent: true });
    pass(10_000);
    progress.update({ done: 1, total: 2 });
    progress.end();
    expect(written).toEqual([]);
  });
});
