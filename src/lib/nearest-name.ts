/** The known name that a misspelt one most likely meant, or null when none is near. */
export function nearestName(typed: string, known: string[]): string | null {
  const lower = typed.toLowerCase().slice(0, 100);
  const limit = Math.max(1, Math.floor(lower.length / 4));
  let best: { name: string; distance: number } | null = null;
  for (const name of known) {
    const distance = editDistance(lower, name.toLowerCase());
    if (distance <= limit && (best === null || distance < best.distance)) best = { name, distance };
  }
  return best?.name ?? null;
}

/** Insertions, deletions, replacements and swaps of neighbours, each counted as one. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let cost = Math.min(replaced, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
