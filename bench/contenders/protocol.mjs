// How a contender's process talks with the runner.

export const settings = JSON.parse(process.argv[2]);
const tellMs = 5;

let handled = 0;
let hasBegun = false;

/** A handler was called. The first call is reported at once: it starts the clock. */
export function noteCall() {
  if (!hasBegun) process.send({ is: 'first', atNs: process.hrtime.bigint().toString() });
  hasBegun = true;
}

export function countHandled(count) {
  noteCall();
  handled += count;
}

/** Tells the runner that this process is connected and idle; resolves at `go`. */
export async function untilGo() {
  const told = new Promise((resolve) => {
    process.once('message', resolve);
  });
  // Without its runner a contender exits.
  process.once('disconnect', () => process.exit(0));
  process.send({ is: 'ready' });
  await told;
}

/** Reports regularly how many were handled; the timer's cost is negligible. */
export function tellHandled() {
  let last = -1;
  setInterval(() => {
    if (handled === last) return;
    last = handled;
    process.send({ is: 'handled', count: handled });
  }, tellMs);
}

/** On a clock that all processes of a machine share. */
export function tellBegin(subjectId) {
  const atNs = process.hrtime.bigint();
  process.send({ is: 'begin', subjectId, atNs: atNs.toString() });
}
