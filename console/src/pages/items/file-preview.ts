import { sendForm } from '../../api/send-form.ts';
import type { NewItems } from './send-items.ts';
import { formOf } from './send-items.ts';

export interface RowNote {
  code: string;
  message: string;
  count: number;
  places: { line: number | null; row: number | null; what: string }[];
}

export interface FilePreview {
  format: string;
  delimiter: string | null;
  encoding: string | null;
  headerLine: number | null;
  sheet: string | null;
  sheets: string[];
  rowCount: number;
  fileColumns: string[] | null;
  columns: { name: string; type: string; filled: number; samples: string[] }[];
  notes: RowNote[];
  rows: Record<string, unknown>[];
}

export interface TriedRow {
  rowNo: number;
  status: string;
  errorCode: string | null;
  lastError: string | null;
  input: Record<string, unknown>;
  result: unknown;
}

/** A larger file is sent once, to its job: nobody wants to wait for it twice. */
export const largestPreviewBytes = 20 * 1024 * 1024;

const brokenOff = 'The server cannot be reached. Nothing was stored; try again.';

export function previewFile(items: NewItems, signal: AbortSignal): Promise<FilePreview> {
  return ask('/api/items/preview', items, signal);
}

export function tryRows(items: NewItems, signal: AbortSignal): Promise<{ data: TriedRow[] }> {
  return ask('/api/items/try', items, signal);
}

function ask<Answer>(path: string, items: NewItems, signal: AbortSignal): Promise<Answer> {
  const sending = { onProgress: () => {}, signal, idempotencyKey: crypto.randomUUID() };
  return sendForm<Answer>({ path, form: formOf(items), brokenOff }, sending);
}
