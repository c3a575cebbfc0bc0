/** Exponentially weighted moving average: `weight` is the share of the newest sample; null is "nothing seen yet". */
export function ewma(average: number | null, sample: number, weight: number): number {
  return average === null ? sample : average + weight * (sample - average);
}

export function clamp(value: number, { min, max }: { min: number; max: number }): number {
  return Math.min(Math.max(value, min), max);
}

/** Digits without the zeros at their end. Counted: a pattern looks for the end of a run from each of its zeros. */
export function withoutZerosBehind(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end -= 1;
  return digits.slice(0, end);
}
