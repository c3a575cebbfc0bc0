/** Of PostgreSQL's extensions: numbers between dots. */
export function isAtLeast(version: string, wanted: string): boolean {
  const [have, want] = [version, wanted].map((text) => text.split('.').map(Number));
  for (let place = 0; place < Math.max(have?.length ?? 0, want?.length ?? 0); place += 1) {
    const difference = (have?.[place] ?? 0) - (want?.[place] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}
