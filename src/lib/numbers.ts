/** Exponentially weighted moving average: `weight` is the share of the newest sample; null is "nothing seen yet". */
export function ewma(average: number | null, sample: number, weight: number): number {
  return average === null ? sample : average + weight * (sample - average);
}

export function clamp(value: number, { min, max }: { min: number; max: number }): number {
  return Math.min(Math.max(value, min), max);
}
