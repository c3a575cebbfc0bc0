import type { Client } from '../../../cli/client/client.ts';
import { findTarget, saveDownload } from '../../../cli/client/download.ts';

export interface RejectedRun {
  uploadId: string;
  /** Undefined: stdout. */
  file: string | undefined;
  signal: AbortSignal;
}

/** Writes the refused rows of an upload as CSV, each with its reason; answers how many bytes that were. */
export async function downloadRejected(
  client: Client,
  { uploadId, file, signal }: RejectedRun,
): Promise<number> {
  const target = file === undefined ? null : await findTarget(file);
  const chunks = await client.download(`/api/uploads/${uploadId}/rejected.csv`, {
    method: 'GET',
    query: {},
    mediaType: 'text/csv',
    signal,
  });
  return saveDownload(chunks, { target, isSilent: false, signal });
}
