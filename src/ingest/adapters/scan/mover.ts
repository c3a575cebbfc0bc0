import { isSluiceError, messageOf } from '../../../lib/errors.ts';
import { asidePath } from '../files/file-names.ts';
import { recordMove } from '../files/file-store.ts';
import type { Adapter, AdapterFile, FileLook, FileSource } from '../types.ts';
import type { HeldScan } from './lease.ts';

/** Moves files that were dealt with to `done/` and `failed/`, beside them. */
export class Mover {
  readonly #held: HeldScan;
  readonly #adapter: Adapter;
  readonly #source: FileSource;

  constructor(held: HeldScan, { adapter, source }: { adapter: Adapter; source: FileSource }) {
    this.#held = held;
    this.#adapter = adapter;
    this.#source = source;
  }

  /** Null, or why it was not moved; the next scan tries again. `dealtWith` is the file as it was taken in. */
  async move(row: AdapterFile, dealtWith: FileLook): Promise<string | null> {
    const { tenantId } = this.#adapter;
    const from = row.movedTo ?? row.path;
    const folder = folderOf(row);
    // A lost lease means that another scan moves it.
    await this.#held.write(async () => {});
    try {
      const { fileId, path } = row;
      const now = await this.#source.find(from);
      if (now !== null && !isSame(now, dealtWith)) {
        return 'Another file has come in its place, which is dealt with first';
      }
      const isTaken = (await this.#source.find(`${folder}/${path}`)) !== null;
      const to = asidePath(path, { folder, fileId, isTaken });
      await this.#source.move({ from, to });
      await this.#held.write((tx) => recordMove(tx, { tenantId, fileId, movedTo: to }));
      return null;
    } catch (error) {
      if (isSluiceError(error) && error.code === 'adapter_scan_lost') throw error;
      return `It could not be moved to ${folder}/: ${messageOf(error)}`;
    }
  }
}

function isSame(one: FileLook, other: FileLook): boolean {
  return one.sizeBytes === other.sizeBytes && one.version === other.version;
}

/** Whether it lies where it belongs, as far as is known. */
export function isAside(row: AdapterFile): boolean {
  return row.movedTo?.startsWith(`${folderOf(row)}/`) ?? false;
}

function folderOf({ state }: AdapterFile): 'done' | 'failed' {
  return state === 'failed' ? 'failed' : 'done';
}
