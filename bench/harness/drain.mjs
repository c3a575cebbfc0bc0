// Draining a full queue: fill, flush, start the processes, and the clock runs until nothing is left.
import { startContender, until } from './children.mjs';
import { msBetween } from './figures.mjs';

/**
 * Returns jobs per second. The clock starts with the first call of a handler, so connecting is not measured; a
 * program that does not report it was connected before `go`. `left` counts what the database still holds; it runs
 * only after the processes report that they have handled everything, because counting would slow them down.
 */
export async function drain({ program, processes, settings, count, left }) {
  const handled = new Map();
  const firstsNs = [];
  const children = await Promise.all(
    Array.from({ length: processes }, () =>
      startContender(program, settings, (message, child) => {
        if (message.is === 'first') firstsNs.push(BigInt(message.atNs));
        if (message.is === 'handled') handled.set(child.pid, message.count);
      }),
    ),
  );
  try {
    const goneNs = process.hrtime.bigint();
    for (const child of children) child.go();
    const total = () => [...handled.values()].reduce((sum, each) => sum + each, 0);
    await until(`${program} has handled ${count}`, () => total() >= count, { everyMs: 2, limitMs: 600_000 });
    const endNs = await untilNoneLeft(program, left);
    if (total() > count) console.log(`    ${program} handled ${total() - count} of ${count} twice`);
    const startNs = firstsNs.reduce((first, each) => (each < first ? each : first), firstsNs[0] ?? goneNs);
    return count / (msBetween(startNs, endNs) / 1000);
  } finally {
    await Promise.all(children.map((child) => child.stop()));
  }
}

/** The start of the query that returned zero: the time for counting is not measured. */
async function untilNoneLeft(program, left) {
  let askedNs = 0n;
  const isNone = async () => {
    askedNs = process.hrtime.bigint();
    return (await left()) === 0;
  };
  await until(`${program} has completed all`, isNone, { everyMs: 2 });
  return askedNs;
}
