import type { Client } from '../../../cli/client/client.ts';
import { findTarget, saveDownload } from '../../../cli/client/download.ts';
import { UsageError } from '../../../cli/terminal/exit.ts';

export const exportFormats = ['csv', 'xlsx', 'parquet'] as const;
export type ExportFormat = (typeof exportFormats)[number];

const mediaTypes: Record<ExportFormat, string> = {
  csv: 'text/csv',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  parquet: 'application/vnd.apache.parquet',
};

/** What was asked for, else what the name of the file says, else CSV. */
export function chooseFormat({ format, file }: { format?: ExportFormat; file?: string }): ExportFormat {
  if (format !== undefined) return format;
  const name = file?.toLowerCase() ?? '';
  return exportFormats.find((one) => name.endsWith(`.${one}`)) ?? 'csv';
}

export function refuseTerminal(format: ExportFormat, stream: { isTTY?: boolean }): void {
  if (format === 'csv' || stream.isTTY !== true) return;
  const what = format === 'xlsx' ? 'An XLSX' : 'A Parquet';
  throw new UsageError(`${what} file is not for a terminal. Allowed: -o FILE, a pipe, or --format csv.`);
}

export interface ExportOptions {
  jobId: string;
  format: ExportFormat;
  input: boolean;
  reasons: boolean;
  /** Undefined: all of them. */
  columns: readonly string[] | undefined;
  /** Undefined: stdout. */
  file: string | undefined;
  isSilent: boolean;
  signal: AbortSignal;
}

/** Writes the rows of a job; answers how many bytes that were. */
export async function exportItems(client: Client, options: ExportOptions): Promise<number> {
  const { jobId, format, file, signal } = options;
  const target = file === undefined ? null : await findTarget(file);
  const wish = new URLSearchParams();
  for (const name of options.columns ?? []) wish.append('columns', name);
  if (options.input) wish.set('input', 'true');
  if (options.reasons) wish.set('reasons', 'true');
  const chunks = await client.download(`/api/jobs/${jobId}/export?${wish}`, {
    method: 'POST',
    query: { format },
    mediaType: mediaTypes[format],
    signal,
  });
  return saveDownload(chunks, { target, isSilent: options.isSilent, signal });
}
