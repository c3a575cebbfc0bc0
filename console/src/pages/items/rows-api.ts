import { ApiProblem, urlOf } from '../../api/client.ts';
import { parseExact } from './exact-json.ts';
import type { ItemStatus } from './item-status.ts';
import type { RowOrder } from './row-order.ts';

export interface GridRow {
  id: string;
  rowNo: number;
  status: ItemStatus;
  attempts: number;
  /** Only where it was asked for. */
  input?: unknown;
  /** Only of open rows. */
  inputSummary?: {
    title: string | null;
    brand: string | null;
    sku: string | null;
    first: { name: string; value: string }[];
  };
  result: unknown;
  errorCode: string | null;
  lastError: string | null;
  lockedBy: string | null;
  lockedAt: string | null;
  nextAttemptAt: string | null;
  /** What a pending row waits for: another try, or its provider. */
  waitingFor?: string | null;
  updatedAt: string;
}

export interface RowsPage {
  data: GridRow[];
  hasMore: boolean;
  nextCursor: string | null;
}

export interface RowsQuery {
  fromRow?: number | undefined;
  statuses?: readonly ItemStatus[] | undefined;
  errorCode?: string | undefined;
  sort?: RowOrder | undefined;
  minAttempts?: number | undefined;
  after?: string | undefined;
  pageSize: number;
  input: boolean;
}

export function getRows(jobId: string, query: RowsQuery, signal: AbortSignal): Promise<RowsPage> {
  const url = urlOf('/api/jobs/{job_id}/items', { path: { job_id: jobId }, query });
  return getExact<RowsPage>(url, signal);
}

export type WholeRow = GridRow & { normalized: unknown };

export function getRow(jobId: string, itemId: string, signal: AbortSignal): Promise<WholeRow> {
  const path = { job_id: jobId, item_id: itemId };
  return getExact<WholeRow>(urlOf('/api/jobs/{job_id}/items/{item_id}', { path }), signal);
}

/** Bypasses the typed client, which reads numbers as doubles. */
async function getExact<Answer>(url: string, signal: AbortSignal): Promise<Answer> {
  const response = await fetch(url, { headers: { accept: 'application/json' }, signal }).catch(unreachable);
  const text = await response.text();
  if (response.ok) return parseExact(text) as Answer;
  throw new ApiProblem(response.status, problemOf(text));
}

function unreachable(error: unknown): never {
  if (error instanceof DOMException && error.name === 'AbortError') throw error;
  throw new ApiProblem(0, {
    code: 'unreachable',
    title: 'The server cannot be reached',
    detail: 'The server cannot be reached. Rows are loaded again by themselves.',
  });
}

function problemOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return { detail: text.slice(0, 300) };
  }
}
