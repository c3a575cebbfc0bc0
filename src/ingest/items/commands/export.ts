import type { Client } from '../../../cli/client/client.ts';
import { findTarget, saveDownload } from '../../../cli/client/download.ts';
import { UsageError } from '../../../cli/terminal/exit.ts';

export const exportFormats = ['csv', 'xlsx'] as const;
export type ExportFormat = (typeof exportFormats)[number];

const mediaTypes: Record<ExportFormat, string> = {
  csv: 'text/csv',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

/** What was asked for, else what the name of the file says, else CSV. */
export function chooseFormat({ format, file }: { format?: ExportFormat; file?: string }): ExportFormat {
  if (format !== undefined) return format;
  return file?.toLowerCase().endsWith('.xlsx') ? 'xlsx' : 'csv';
}

export function refuseTerminal(format: ExportFormat, stream: { isTTY?: boolean }): void {
  if (format !== 'xlsx' || stream.isTTY !== true) return;
  throw new UsageError('An XLSX file is not for a terminal. Allowed: -o FILE, a pipe, or --format csv.');
}

export interface ExportOptions {
  jobId: string;
  format: ExportFormat;
  /** Undefined: stdout. */
  file: string | undefined;
  isSilent: boolean;
  signal: AbortSignal;
}

/** Writes the rows of a job; answers how many bytes that were. */
export async function exportItems(client: Client, options: ExportOptions): Promise<number> {
  const { jobId, format, file, signal } = options;
  const target = file === undefined ? null : await findTarget(file);
  const chunks = await client.download(`/api/jobs/${jobId}/export`, {
    method: 'POST',
    query: { format },
    mediaType: mediaTypes[format],
    signal,
  });
  return saveDownload(chunks, { target, isSilent: options.isSilent, signal });
}
