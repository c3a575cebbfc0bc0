import type { Readable } from 'node:stream';
import { forgetUnlessCommitted, recordFile } from '../../../src/kernel/files/service.ts';
import type { FileRecord, Files } from '../../../src/kernel/files/types.ts';
import type { Database, Tx } from '../../../src/lib/postgres/db.ts';

/** Stores a file as the houses do: bytes first, row second, and no bytes are left if the transaction fails. */
export async function saveFile<T>(
  { db, files }: { db: Database; files: Files },
  upload: Pick<FileRecord, 'tenantId' | 'name' | 'mediaType' | 'createdBy'> & {
    content: Readable;
    maxBytes: number;
  },
  inTransaction: (tx: Tx, file: FileRecord) => Promise<T>,
): Promise<T> {
  const { content, maxBytes, ...file } = upload;
  const stored = await files.store(content, { maxBytes });
  try {
    return await db.tenant(file.tenantId, async (tx) =>
      inTransaction(tx, await recordFile(tx, { ...file, files, stored })),
    );
  } catch (error) {
    await forgetUnlessCommitted(files, stored.storageKey, error);
    throw error;
  }
}
