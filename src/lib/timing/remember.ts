/** Calls `ask` at most once per `ms` and returns its last result in between. */
export function rememberFor<T>(ms: number, ask: () => Promise<T>): () => Promise<T> {
  let last: { answer: Promise<T>; askedAtMs: number } | null = null;
  return () => {
    const now = performance.now();
    if (last === null || now - last.askedAtMs > ms) last = { answer: ask(), askedAtMs: now };
    return last.answer;
  };
}
