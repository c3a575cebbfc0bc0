import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { assumeProven, type Convention, type ReportConventions, weighRows } from '../reports/conventions.ts';
import type { ReportReader } from '../reports/reading/types.ts';
import type { MappedColumns, ReportLayout, ResumePoint } from '../reports/types.ts';

/** Few enough that heartbeats are not delayed. The rows are not kept. */
const rowsPerLook = 500;

export interface LookTask {
  lines: {
    readonly conventions: ReportConventions | null;
    useConventions(conventions: ReportConventions): void;
    mapColumns(layout: ReportLayout): MappedColumns;
  };
  /** The conventions that earlier rows depend on. */
  hanging: readonly Convention[];
  /** The slice reads at least this many rows, or the next slice would mostly repeat its work. */
  leastRows: number;
  signal: AbortSignal;
  /** Whether the slice should end now. */
  isTime: () => boolean;
}

/**
 * Reads ahead without staging anything, until the conventions that earlier rows depend on are proven or the file ends.
 * `stoppedAt` is where another slice continues; null when everything is decided.
 */
export async function lookAhead(
  reader: ReportReader,
  { lines, hanging, leastRows, signal, isTime }: LookTask,
): Promise<{ stoppedAt: ResumePoint | null }> {
  let columns: MappedColumns | null = null;
  let looked = 0;
  for await (const { rows, resume } of reader.batches(rowsPerLook)) {
    const { layout } = reader;
    // The headers of a JSON file grow while it is read.
    if (columns?.headers.length !== layout.headers.length) columns = lines.mapColumns(layout);
    if (lines.conventions === null) throw new Error('lookAhead needs the conventions of the first rows');
    lines.useConventions(weighRows(lines.conventions, { columns, rows }).conventions);
    if (!hanging.some((one) => lines.conventions?.unproven?.includes(one))) return { stoppedAt: null };
    await yieldToEventLoop();
    signal.throwIfAborted();
    looked += rows.length;
    if (resume !== null && looked >= leastRows && isTime()) return { stoppedAt: resume };
  }
  if (lines.conventions !== null) lines.useConventions(assumeProven(lines.conventions));
  return { stoppedAt: null };
}
