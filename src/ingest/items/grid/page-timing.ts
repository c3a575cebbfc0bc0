import type { FastifyBaseLogger } from 'fastify';
import type { ItemMetrics } from '../metrics.ts';

/** What is needed to find slow pages and to trace every page. */
export interface PageTiming {
  metrics: ItemMetrics;
  /** Pages that take longer are logged as slow. */
  slowMs: number;
}

interface PageRow {
  id: number;
  updatedAt: string;
}

export const slowPageMs = 500;

/** Reads one page. Its duration goes to the histogram of its list, its boundaries to the log. */
export async function timePage<Row extends PageRow>(
  { metrics, slowMs }: PageTiming,
  { list, log }: { list: 'grid' | 'keyset' | 'pending'; log: FastifyBaseLogger },
  read: () => Promise<Row[]>,
): Promise<Row[]> {
  const startedAtMs = performance.now();
  const rows = await read();
  const tookMs = performance.now() - startedAtMs;
  metrics.pageSeconds.observe({ list }, tookMs / 1000);
  const line = { list, tookMs: Math.round(tookMs), rows: rows.length, ...boundariesOf(rows) };
  if (tookMs > slowMs) log.warn(line, 'a page of rows was slow');
  else log.debug(line, 'a page of rows');
  return rows;
}

function boundariesOf(rows: readonly PageRow[]) {
  const [first, last] = [rows[0], rows.at(-1)];
  return { first: first && [first.updatedAt, first.id], last: last && [last.updatedAt, last.id] };
}
