import { isSluiceError, messageOf } from '../../../lib/errors.ts';
import { asidePath } from '../files/file-names.ts';
import { recordMove } from '../files/store.ts';
import type { AdapterFile, FileLook } from '../types.ts';
import type { OpenScan } from './scan.ts';

/**
 * Moves a processed file to `done/` or `failed/` beside it. Returns null, or why it was not moved; the next scan tries
 * again. `processed` is the file as it was ingested.
 */
export async function moveAside(
  { held, adapter: { tenantId }, source }: OpenScan,
  row: AdapterFile,
  processed: FileLook,
): Promise<string | null> {
  const from = row.movedTo ?? row.path;
  const folder = folderOf(row);
  // If the lease is lost, another scan moves the file.
  await held.write(async () => {});
  try {
    const { fileId, path } = row;
    const now = await source.find(from);
    if (now !== null && !isSame(now, processed)) {
      return 'Another file has taken its place and is ingested first';
    }
    const isTaken = (await source.find(`${folder}/${path}`)) !== null;
    const to = asidePath(path, { folder, fileId, isTaken });
    await source.move({ from, to });
    await held.write((tx) => recordMove(tx, { tenantId, fileId, movedTo: to }));
    return null;
  } catch (error) {
    if (isSluiceError(error) && error.code === 'adapter_scan_lost') throw error;
    return `It could not be moved to ${folder}/: ${messageOf(error)}`;
  }
}

function isSame(one: FileLook, other: FileLook): boolean {
  return one.sizeBytes === other.sizeBytes && one.version === other.version;
}

/** Whether the file is recorded as moved to where it belongs. */
export function isAside(row: AdapterFile): boolean {
  return row.movedTo?.startsWith(`${folderOf(row)}/`) ?? false;
}

function folderOf({ state }: AdapterFile): 'done' | 'failed' {
  return state === 'failed' ? 'failed' : 'done';
}
