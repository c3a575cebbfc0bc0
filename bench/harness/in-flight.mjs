// Work on many things, a few at a time.

/** Calls `work` for everything in `things`, with at most `width` calls under way. */
export async function inFlight(width, things, work) {
  const rest = things[Symbol.iterator]();
  const take = async () => {
    for (let next = rest.next(); !next.done; next = rest.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: width }, take));
}

export function* numbersTo(count) {
  for (let n = 1; n <= count; n += 1) yield n;
}
