/**
 * Whether the JSON of a value has more than so many characters for certain. It stops as soon as that is decided, so it
 * takes no longer for a value of a hundred megabytes. False for a value that may still be a little longer.
 */
export function isJsonLonger(value: unknown, most: number): boolean {
  return countDown(value, most) < 0;
}

/** Longer than any JSON. */
const longest = Number.MAX_SAFE_INTEGER;

/** About how long the JSON of a value is: never longer than it is. */
export function jsonUnits(value: unknown): number {
  return longest - countDown(value, longest);
}

/** What is left of the characters, without those of commas; below zero they did not suffice. */
function countDown(value: unknown, left: number): number {
  if (typeof value === 'string') return left - value.length - 2;
  if (typeof value !== 'object' || value === null) return left - 1;
  let rest = left - 2;
  if (Array.isArray(value)) {
    for (const each of value) {
      rest = countDown(each, rest);
      if (rest < 0) return rest;
    }
    return rest;
  }
  for (const name in value) {
    rest = countDown((value as Record<string, unknown>)[name], rest - name.length - 3);
    if (rest < 0) return rest;
  }
  return rest;
}
