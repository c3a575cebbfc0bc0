import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { isSluiceError, type SluiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { findDropped, insertDropped, isRecordedAlready, tenantExists } from './dropped-store.ts';
import { type IntakeDeps, storeContent, takeIn } from './intake.ts';
import { readIntakeFields } from './intake-fields.ts';

/** `tenant/workspace_id/platform/file` below the folder. */
interface DroppedFile {
  tenantId: string;
  workspaceId: string;
  platform: string;
  path: string;
  file: string;
  sizeBytes: number;
  modifiedAt: Date;
}

export interface WatchDeps extends IntakeDeps {
  logger: Logger;
}

/** A file that was changed less long ago than this may still be being written. */
const restMs = 2_000;
const maxFiles = 100;

/**
 * Takes in files that people drop into a folder, each once: by its path, size and time of change, which are recorded
 * in the transaction that makes the upload. Files are left where they are.
 */
export class FolderWatch {
  readonly #deps: WatchDeps;
  readonly #folder: string;
  /** Size and time of change at the last look: a file that still grows is left alone. */
  #lastLook = new Map<string, string>();

  constructor(deps: WatchDeps, folder: string) {
    this.#deps = deps;
    this.#folder = folder;
  }

  async scan(): Promise<{ taken: number; refused: number }> {
    const report = { taken: 0, refused: 0 };
    const look = new Map<string, string>();
    for (const found of await this.#list()) {
      const sign = `${found.sizeBytes} ${found.modifiedAt.getTime()}`;
      look.set(found.path, sign);
      const isAtRest =
        this.#lastLook.get(found.path) === sign && Date.now() - found.modifiedAt.getTime() > restMs;
      if (!isAtRest || report.taken + report.refused >= maxFiles) continue;
      const outcome = await this.#takeOrPostpone(found);
      if (outcome !== null) report[outcome] += 1;
    }
    this.#lastLook = look;
    return report;
  }

  async #list(): Promise<DroppedFile[]> {
    const files: DroppedFile[] = [];
    const entries = await readdir(this.#folder, { recursive: true, withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      if (!entry.isFile() || entry.name.startsWith('.')) continue;
      const file = path.join(entry.parentPath, entry.name);
      const below = path.relative(this.#folder, file);
      const [tenantId, workspaceId, platform, name, ...deeper] = below.split(path.sep);
      if (!tenantId || !workspaceId || !platform || !name || deeper.length > 0) continue;
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
    return files;
  }

  /** Whatever keeps one file from being taken now must not keep the others from it; it is tried again. */
  async #takeOrPostpone(found: DroppedFile): Promise<'taken' | 'refused' | null> {
    try {
      return await this.#take(found);
    } catch (error) {
      if (!isRecordedAlready(error)) {
        this.#deps.logger.warn({ err: error, path: found.path }, 'a dropped file could not be taken yet');
      }
      return null;
    }
  }

  async #take(found: DroppedFile): Promise<'taken' | 'refused' | null> {
    const { db } = this.#deps;
    const { tenantId } = found;
    if (!(await db.tenant(tenantId, (tx) => tenantExists(tx, tenantId)))) return null;
    const context = { role: 'sluice_intake', tenantId } as const;
    if (await db.transaction(context, (tx) => findDropped(tx, found))) return null;
    try {
      await this.#makeUpload(found);
      return 'taken';
    } catch (error) {
      // What is wrong with the file is recorded, so that it is not tried for ever; anything else is tried again.
      if (!isOfTheFile(error)) throw error;
      await db.transaction(context, (tx) =>
        insertDropped(tx, { ...found, uploadId: null, errorText: error.message }),
      );
      return 'refused';
    }
  }

  async #makeUpload(found: DroppedFile): Promise<void> {
    const fields = readIntakeFields({
      workspace_id: found.workspaceId,
      platform: found.platform,
      source: 'manual',
    });
    const stored = await storeContent(this.#deps, createReadStream(found.file));
    await takeIn(this.#deps, {
      tenantId: found.tenantId,
      userId: 'folder',
      createdBy: 'folder',
      fields,
      filename: path.basename(found.file),
      stored,
      // Another worker that looks at the same moment meets this row and takes its own upload back.
      beforeCommit: (tx, { uploadId }) =>
        tx.as('sluice_intake', (own) => insertDropped(own, { ...found, uploadId, errorText: null })),
    });
  }
}

/** A folder of a workspace that the tenant does not have is as wrong as the file in it. */
function isOfTheFile(error: unknown): error is SluiceError {
  return isSluiceError(error) && (error.kind === 'invalid' || error.code === 'workspace_unknown');
}
