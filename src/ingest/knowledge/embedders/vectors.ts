/** The same direction at length 1; null when it has none: a number that is none, or nothing but zeros. */
export function toUnitLength(values: ArrayLike<number>): Float32Array | null {
  let squares = 0;
  for (let index = 0; index < values.length; index += 1) squares += (values[index] ?? 0) ** 2;
  const length = Math.sqrt(squares);
  if (!Number.isFinite(length) || length === 0) return null;
  return Float32Array.from(values, (value) => value / length);
}
