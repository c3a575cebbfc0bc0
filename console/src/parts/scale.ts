/** Round steps for an axis that begins at zero: 0, 250, 500, … with at most `most` of them. */
export function axisTicks(max: number, most = 4): number[] {
  if (!(max > 0)) return [0, 1];
  const rough = max / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step =
    [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough) ?? power;
  const ticks = [0];
  while ((ticks.at(-1) ?? 0) < max) ticks.push(Number((ticks.length * step).toPrecision(12)));
  return ticks;
}

export interface Point {
  /** Milliseconds since 1970. */
  at: number;
  value: number;
}

/** The values of points in equal steps, gaps filled with zeros, so that a quiet hour looks quiet. */
export function filledSeries(
  points: readonly Point[],
  span: { from: number; to: number; stepMs: number },
): Point[] {
  const { from, to, stepMs } = span;
  const bins = new Map<number, number>();
  for (const { at, value } of points) {
    const bin = Math.floor((at - from) / stepMs);
    bins.set(bin, (bins.get(bin) ?? 0) + value);
  }
  const length = Math.min(10_000, Math.max(0, Math.ceil((to - from) / stepMs)));
  return Array.from({ length }, (_, bin) => ({ at: from + bin * stepMs, value: bins.get(bin) ?? 0 }));
}

/** The point whose time is nearest; null of none. */
export function nearest(points: readonly Point[], at: number): Point | null {
  let best: Point | null = null;
  for (const point of points) {
    if (best === null || Math.abs(point.at - at) < Math.abs(best.at - at)) best = point;
  }
  return best;
}
