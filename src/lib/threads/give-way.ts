import { getPriority, setPriority } from 'node:os';

/** As `nice` does it: below everything that a person or a lease waits for, above what runs only on an idle machine. */
const niceness = 10;

/**
 * Called in a thread whose work is long and pure: parsing, decoding, checking. The thread then leaves the cores to the
 * ones that answer requests whenever both want them. Only Linux has a priority per thread; elsewhere, the call would
 * lower the whole process. A process that was started below keeps its place: going up is not allowed.
 */
export function giveWay(): void {
  if (process.platform === 'linux' && getPriority(0) < niceness) setPriority(0, niceness);
}
