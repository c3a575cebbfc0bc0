import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { assumeProven, type Convention, type ReportConventions, weighRows } from '../reports/conventions.ts';
import type { ReportReader } from '../reports/reading/types.ts';
import type { MappedColumns, ReportLayout, ResumePoint } from '../reports/types.ts';

/** Few enough that a heartbeat does not wait for them; nothing of them is kept. */
const rowsPerLook = 500;

export interface LookTask {
  lines: {
    readonly conventions: ReportConventions | null;
    useConventions(conventions: ReportConventions): void;
    mapColumns(layout: ReportLayout): MappedColumns;
  };
  /** What rows before these hang on. */
  hanging: readonly Convention[];
  /** So many are looked at before a slice ends, or the next would read more again than it looks at. */
  leastRows: number;
  signal: AbortSignal;
  /** Whether the slice should end. */
  isTime: () => boolean;
}

/**
 * Reads on without staging anything, until all that rows before hang on is proven or the file ends. Only for files that
 * need it. `stoppedAt` is where to go on in another slice; null when all is settled.
 */
export async function lookAhead(
  reader: ReportReader,
  { lines, hanging, leastRows, signal, isTime }: LookTask,
): Promise<{ stoppedAt: ResumePoint | null }> {
  let columns: MappedColumns | null = null;
  let looked = 0;
  for await (const { rows, resume } of reader.batches(rowsPerLook)) {
    const { layout } = reader;
    // Headers of JSON grow while it is read.
    if (columns?.headers.length !== layout.headers.length) columns = lines.mapColumns(layout);
    if (lines.conventions === null) throw new Error('Rows are looked at only after the first ones');
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
