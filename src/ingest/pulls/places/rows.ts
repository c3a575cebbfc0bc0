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
 * The rows as texts in one order, whatever order the other side sent them in: the same figures make the same content.
 * An id beyond 2^53 that is not quoted has lost its last digits already, so it is refused instead of stored.
 */
export function inOneOrder(rows: readonly Row[], who: string): string[] {
  for (const row of rows) assertExact(row, { who, depth: 0 });
  return rows.map((row) => JSON.stringify(row)).sort();
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
