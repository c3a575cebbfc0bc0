import { createTurns } from '../../../lib/timing/event-loop-turns.ts';
import { pullFailures } from '../errors.ts';

/** A row of a report, as JSON. */
export type Row = Record<string, unknown>;

export function asObject(value: unknown): Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Row) : {};
}

export function asRows(value: unknown): Row[] {
  return Array.isArray(value) ? value.map(asObject) : [];
}

const maxDepth = 32;

/**
 * A row as it is stored. An id beyond 2^53 that is not quoted has lost its last digits already, so it is refused
 * instead of stored.
 */
export function exactText(row: Row, who: string): string {
  assertExact(row, { who, depth: 0 });
  return JSON.stringify(row);
}

const sortedAtOnce = 500;

/**
 * Texts in one order, whatever order the other side sent them in: the same figures make the same content. Merged in
 * turns: sorting a report of 50 MB at once would keep everything else waiting.
 */
export async function inOneOrder(texts: readonly string[]): Promise<readonly string[]> {
  const takeTurn = createTurns();
  let sorted: string[][] = [];
  for (let at = 0; at < texts.length; at += sortedAtOnce) {
    sorted.push(texts.slice(at, at + sortedAtOnce).sort());
    await takeTurn();
  }
  while (sorted.length > 1) {
    const merged: string[][] = [];
    for (let at = 0; at < sorted.length; at += 2) {
      merged.push(await mergeInTurns(sorted[at] ?? [], sorted[at + 1] ?? [], takeTurn));
    }
    sorted = merged;
  }
  return sorted[0] ?? [];
}

async function mergeInTurns(
  one: readonly string[],
  other: readonly string[],
  takeTurn: () => Promise<void> | undefined,
): Promise<string[]> {
  const merged: string[] = [];
  let [first, second] = [0, 0];
  while (first < one.length || second < other.length) {
    const a = one[first];
    const b = other[second];
    if (b === undefined || (a !== undefined && a <= b)) {
      merged.push(a as string);
      first += 1;
    } else {
      merged.push(b);
      second += 1;
    }
    if (merged.length % sortedAtOnce === 0) await takeTurn();
  }
  return merged;
}

function assertExact(value: unknown, { who, depth }: { who: string; depth: number }): void {
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw pullFailures.raise.pull_answer_unreadable(
      `${who} sent the number ${value} without quotes; its last digits are lost, so no id can be read from it`,
    );
  }
  if (typeof value !== 'object' || value === null) return;
  if (depth >= maxDepth) throw pullFailures.raise.pull_answer_unreadable(`${who} sent JSON that is too deep`);
  for (const each of Object.values(value)) assertExact(each, { who, depth: depth + 1 });
}
