import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { isSluiceError, type SluiceError } from '../../../lib/errors.ts';
import type { Logger } from '../../../lib/log.ts';
import { recordRefusal } from '../events.ts';
import { ownNames } from '../platforms/service.ts';
import {
  type DroppedKey,
  findDropped,
  insertDropped,
  isRecordedAlready,
  tenantExists,
} from './dropped-store.ts';
import { fieldsOf, type IntakeDeps, storeContent, takeIn } from './intake.ts';

/** `tenant/workspace_id/platform/file` below the folder. */
interface DroppedFile extends DroppedKey {
  workspaceId: string;
  platform: string;
  file: string;
}

export interface WatchDeps extends IntakeDeps {
  logger: Logger;
}

type Outcome = 'taken' | 'refused' | 'misplaced' | null;

/** A file that changed more recently than this may still be written to. */
const restMs = 2_000;
const maxFiles = 100;

/**
 * Uploads files that people drop into a folder, each once. Its path, size and modification time are recorded in the
 * transaction that creates the upload. The files stay where they are.
 */
export class FolderWatch {
  readonly #deps: WatchDeps;
  readonly #folder: string;
  /** Size and modification time at the last scan: a file that still grows is left alone. */
  #lastLook = new Map<string, string>();
  /** Misplaced files that were logged already; each is logged once. */
  #misplaced = new Set<string>();

  constructor(deps: WatchDeps, folder: string) {
    this.#deps = deps;
    this.#folder = folder;
  }

  /** `misplaced` counts files outside every tenant's folder; somebody has to move them. */
  async scan(): Promise<{ taken: number; refused: number; misplaced: number }> {
    const { files, misplaced } = await this.#list();
    const report = { taken: 0, refused: 0 };
    const look = new Map<string, string>();
    for (const found of files) {
      const sign = `${found.sizeBytes} ${found.modifiedAt.getTime()}`;
      look.set(found.path, sign);
      const isAtRest =
        this.#lastLook.get(found.path) === sign && Date.now() - found.modifiedAt.getTime() > restMs;
      if (!isAtRest || report.taken + report.refused >= maxFiles) continue;
      const outcome = await this.#takeOrPostpone(found);
      if (outcome === 'misplaced') misplaced.add(found.path);
      else if (outcome !== null) report[outcome] += 1;
    }
    this.#lastLook = look;
    this.#warnOfMisplaced(misplaced);
    return { ...report, misplaced: misplaced.size };
  }

  #warnOfMisplaced(misplaced: Set<string>): void {
    for (const below of misplaced) {
      if (this.#misplaced.has(below)) continue;
      this.#deps.logger.warn(
        { path: below },
        'a dropped file is in no tenant’s folder; expected tenant/workspace_id/platform/file',
      );
    }
    this.#misplaced = misplaced;
  }

  async #list(): Promise<{ files: DroppedFile[]; misplaced: Set<string> }> {
    const files: DroppedFile[] = [];
    const misplaced = new Set<string>();
    const entries = await readdir(this.#folder, { recursive: true, withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      if (!entry.isFile() || entry.name.startsWith('.')) continue;
      const file = path.join(entry.parentPath, entry.name);
      const below = path.relative(this.#folder, file);
      const [tenantId, workspaceId, platform, name, ...deeper] = below.split(path.sep);
      if (!tenantId || !workspaceId || !platform || !name || deeper.length > 0) {
        misplaced.add(below);
        continue;
      }
      const found = await stat(file).catch(() => null);
      if (!found) continue;
      files.push({
        tenantId,
        workspaceId,
        platform,
        path: below,
        file,
        sizeBytes: found.size,
        modifiedAt: found.mtime,
      });
    }
    return { files, misplaced };
  }

  /** An error with one file must not stop the others; the next scan tries the file again. */
  async #takeOrPostpone(found: DroppedFile): Promise<Outcome> {
    try {
      return await this.#take(found);
    } catch (error) {
      if (!isRecordedAlready(error)) {
        this.#deps.logger.warn({ err: error, path: found.path }, 'a dropped file could not be uploaded yet');
      }
      return null;
    }
  }

  async #take(found: DroppedFile): Promise<Outcome> {
    const { db } = this.#deps;
    const { tenantId } = found;
    if (!(await db.tenant(tenantId, (tx) => tenantExists(tx, tenantId)))) return 'misplaced';
    const context = { role: 'sluice_intake', tenantId } as const;
    if (await db.transaction(context, (tx) => findDropped(tx, found))) return null;
    try {
      await this.#makeUpload(found);
      return 'taken';
    } catch (error) {
      // A fault of the file is recorded, so that it is not tried again; any other error is.
      if (!isOfTheFile(error)) throw error;
      await this.#refuse(found, error);
      return 'refused';
    }
  }

  /** Records the reason as an event, with the record that keeps the file from being tried again. */
  async #refuse(found: DroppedFile, error: SluiceError): Promise<void> {
    await this.#deps.db.tenant(found.tenantId, async (tx) => {
      await tx.as('sluice_intake', (own) =>
        insertDropped(own, { ...found, uploadId: null, errorText: error.message }),
      );
      await recordRefusal(this.#deps, tx, { ...found, filename: path.basename(found.file), error });
    });
    const { tenantId, path: below } = found;
    this.#deps.logger.warn(
      { tenant_id: tenantId, path: below, code: error.code, reason: error.message },
      'a dropped file was refused',
    );
  }

  async #makeUpload(found: DroppedFile): Promise<void> {
    const own = await ownNames(this.#deps, found.tenantId);
    const fields = fieldsOf(found, { own, source: 'manual' });
    const stored = await storeContent(this.#deps, createReadStream(found.file));
    await takeIn(this.#deps, {
      tenantId: found.tenantId,
      userId: 'folder',
      createdBy: 'folder',
      origin: 'folder',
      fields,
      filename: path.basename(found.file),
      stored,
      // A worker that scans at the same moment conflicts with this row and rolls its upload back.
      beforeCommit: (tx, [{ uploadId }]) =>
        tx.as('sluice_intake', (own) => insertDropped(own, { ...found, uploadId, errorText: null })),
    });
  }
}

/** A file in the folder of a workspace that the tenant does not have counts as faulty too. */
function isOfTheFile(error: unknown): error is SluiceError {
  return isSluiceError(error) && (error.kind === 'invalid' || error.code === 'workspace_unknown');
}
