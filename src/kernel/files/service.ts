import { isSluiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { Database, Tx } from '../../lib/postgres/db.ts';
import { fileErrors } from './errors.ts';
import { deleteFile, findFile, insertFile, listNamedKeys } from './store.ts';
import type { FileKey, FileRecord, Files, StoredContent } from './types.ts';

type NewFile = Pick<FileRecord, 'tenantId' | 'name' | 'mediaType' | 'createdBy'> & {
  files: Files;
  stored: StoredContent;
};

/** Inserts the row of content that is already stored, in the caller's transaction, for example together with a job. */
export function recordFile(tx: Tx, { files, stored, ...file }: NewFile): Promise<FileRecord> {
  return insertFile(tx, { ...file, ...stored, fileId: newId(), storage: files.backend });
}

/** Inserts the row of a file whose rows were taken and whose bytes are not kept. */
export async function recordRows(
  tx: Tx,
  file: Omit<FileRecord, 'storage' | 'storageKey' | 'createdAt'>,
): Promise<void> {
  await insertFile(tx, { ...file, storage: 'rows', storageKey: file.fileId });
}

export async function getFile(tx: Tx, key: FileKey): Promise<FileRecord> {
  const file = await findFile(tx, key);
  if (!file) throw fileErrors.raise.file_not_found(`There is no file ${key.fileId}`);
  return file;
}

/** Deletes the row first and the bytes after the commit: bytes without a row are only an orphan. */
export async function removeFile(
  tx: Tx,
  { tenantId, fileId, files }: FileKey & { files: Files },
): Promise<boolean> {
  const removed = await deleteFile(tx, { tenantId, fileId });
  if (!removed) return false;
  tx.afterCommit(() => {
    // What cannot be deleted now is an orphan, and the sweep will find it.
    files.remove(removed.storageKey).catch(() => {});
  });
  return true;
}

export interface SweepReport {
  looked: number;
  removed: number;
  /** False when the limit was reached: the next sweep starts elsewhere. */
  complete: boolean;
}

const orphanAgeMs = 3_600_000;

/**
 * Removes content that no row names. Only content older than an hour counts: a younger one may belong to a
 * transaction that is still open.
 */
export async function sweepOrphans(
  { db, files }: { db: Database; files: Files },
  { olderThanMs = orphanAgeMs, batchSize = 500, limit = 100_000 } = {},
): Promise<SweepReport> {
  const report: SweepReport = { looked: 0, removed: 0, complete: true };
  let batch: string[] = [];
  for await (const old of files.listOlderThan(olderThanMs)) {
    if (report.looked === limit) {
      report.complete = false;
      break;
    }
    report.looked += 1;
    if (old.kind === 'leftover') {
      await old.remove();
      report.removed += 1;
      continue;
    }
    batch.push(old.storageKey);
    if (batch.length < batchSize) continue;
    report.removed += await removeUnnamed(db, files, batch);
    batch = [];
  }
  report.removed += await removeUnnamed(db, files, batch);
  return report;
}

async function removeUnnamed(db: Database, files: Files, storageKeys: string[]): Promise<number> {
  if (storageKeys.length === 0) return 0;
  const named = new Set(await db.kernel((tx) => listNamedKeys(tx, { storage: files.backend, storageKeys })));
  const orphans = storageKeys.filter((storageKey) => !named.has(storageKey));
  for (const storageKey of orphans) await files.remove(storageKey);
  return orphans.length;
}

/** A commit whose response was lost may still happen: its bytes stay, and the sweep decides in an hour. */
export async function forgetUnlessCommitted(files: Files, storageKey: string, error: unknown): Promise<void> {
  if (isSluiceError(error) && error.code === 'commit_unknown') return;
  // The caller gets the first failure; bytes that cannot be deleted now are left to the sweep.
  await files.remove(storageKey).catch(() => {});
}
