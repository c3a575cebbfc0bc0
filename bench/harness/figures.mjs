// Numbers from measurements.

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

/** Three significant digits below 100, whole numbers above: timings are not more precise. */
export function round(value) {
  return Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3));
}

export function format(value) {
  return round(value).toLocaleString('en-US', { maximumFractionDigits: 3 });
}

export function msBetween(fromNs, toNs) {
  return Number(toNs - fromNs) / 1e6;
}

export async function secondsOf(work) {
  const startedAtMs = performance.now();
  await work();
  return (performance.now() - startedAtMs) / 1000;
}
