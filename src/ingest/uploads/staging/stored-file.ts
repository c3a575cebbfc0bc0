import type { Readable } from 'node:stream';
import { getFile } from '../../../kernel/files/service.ts';
import type { Files } from '../../../kernel/files/types.ts';
import { isSluiceError } from '../../../lib/errors.ts';
import type { Database } from '../../../lib/postgres/db.ts';
import { uploadFailures } from '../errors.ts';
import type { Upload } from '../types.ts';

/** Returns a function that opens the upload's file at any byte. Throws `file_lost` when the file is missing. */
export async function openStored(
  { db, files }: { db: Database; files: Files },
  { tenantId, fileId, uploadId }: Upload,
): Promise<(fromByte: number) => AsyncIterable<Uint8Array>> {
  const file = await db.tenant(tenantId, (tx) => getFile(tx, { tenantId, fileId })).catch(lost);
  if (!(await files.exists(file.storageKey))) lost(new Error(`no content ${file.storageKey}`));
  return async function* read(fromByte: number) {
    // Some storages refuse a range beyond the end.
    if (fromByte >= file.sizeBytes) return;
    const content: Readable = await files.open(file.storageKey, { start: fromByte }).catch(lost);
    yield* content;
  };

  function lost(error: unknown): never {
    if (isSluiceError(error) && error.kind !== 'not_found') throw error;
    if (!isSluiceError(error) && !(error instanceof Error && error.message.startsWith('no content')))
      throw error;
    throw uploadFailures.raise.file_lost(
      `The stored file of upload ${uploadId} is missing; upload it again.`,
      {
        cause: error,
      },
    );
  }
}
