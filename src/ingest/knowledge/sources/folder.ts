import { constants } from 'node:fs';
import { type FileHandle, open, readdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { findBelow } from '../../../kernel/files/folder.ts';
import { kindOfName } from '../formats/detect.ts';
import { documentErrors } from '../formats/errors.ts';
import type { DocumentLimits } from '../formats/types.ts';
import { fileBatches, type ListedFile } from './file-batches.ts';
import { findStamp } from './file-stamp.ts';
import { uriOfFile } from './files.ts';
import type { Source, SourceCursor } from './source.ts';

export interface FolderSourceOptions {
  /** The tenant's folder below the configured one; nothing outside of it is read. */
  root: string;
  /** Relative to the root; empty: the root itself. */
  folder: string;
  limits?: Partial<DocumentLimits>;
  maxFiles?: number;
  now?: () => number;
}

const maxDepth = 64;
const defaultMaxFiles = 1_000_000;
const filesAtOnce = 1_000;

/**
 * The documents in a folder of the server and its subfolders, by name. Hidden files and unsupported kinds are skipped.
 * Links to folders are not followed, links to files only if they lead below the root.
 */
export function createFolderSource(options: FolderSourceOptions): Source {
  return {
    batches: (context) => {
      const walk = new FolderWalk(options);
      return fileBatches(walk.files(context.cursor), {
        context,
        limits: options.limits ?? {},
        end: () =>
          walk.trouble === null ? { isComplete: true } : { isComplete: false, reason: walk.trouble },
      });
    },
  };
}

class FolderWalk {
  /** Why not everything was read: then unread documents do not count as gone. */
  trouble: string | null = null;
  readonly #options: FolderSourceOptions;
  #files = 0;

  constructor(options: FolderSourceOptions) {
    this.#options = options;
  }

  async *files(cursor: SourceCursor | null): AsyncGenerator<ListedFile[]> {
    const folder = await this.#findFolder();
    if (folder === null) {
      const name = JSON.stringify(this.#options.folder);
      this.trouble = `There is no folder ${name} in the tenant’s folder below KNOWLEDGE_FOLDER_ROOT`;
      return;
    }
    // Problems before the cursor still count.
    if (typeof cursor?.trouble === 'string') this.trouble = cursor.trouble;
    const after = typeof cursor?.path === 'string' ? cursor.path.split('/') : [];
    yield* this.#walk(folder, { segments: [], after });
    // A disk that is not mounted looks the same.
    if (cursor === null && this.#files === 0) this.trouble ??= 'The folder contains no documents';
  }

  async #findFolder(): Promise<string | null> {
    const { root, folder } = this.#options;
    if (folder.includes('\0') || path.isAbsolute(folder)) return null;
    const base = await realpath(root).catch(() => null);
    const found = base === null ? null : await realpath(path.join(base, folder)).catch(() => null);
    if (base === null || found === null) return null;
    return found === base || found.startsWith(base.endsWith(path.sep) ? base : `${base}${path.sep}`)
      ? found
      : null;
  }

  /** `after` is where the last batch ended, relative to this folder. */
  async *#walk(
    directory: string,
    { segments, after }: { segments: string[]; after: string[] },
  ): AsyncGenerator<ListedFile[]> {
    if (segments.length > maxDepth) {
      this.trouble ??= `Folders are nested more than ${maxDepth} deep at ${JSON.stringify(segments.join('/'))}`;
      return;
    }
    const [first, ...rest] = after;
    let files: ListedFile[] = [];
    for (const entry of await this.#list(directory, segments)) {
      const isOnTheWay = entry.name === first;
      if (first !== undefined && entry.name < first) continue;
      if (entry.isDirectory()) {
        yield files;
        files = [];
        const place = { segments: [...segments, entry.name], after: isOnTheWay ? rest : [] };
        yield* this.#walk(path.join(directory, entry.name), place);
      } else if (!(isOnTheWay && rest.length === 0) && kindOfName(entry.name) !== null) {
        if (!this.#mayHaveMore()) break;
        files.push(this.#listed(directory, [...segments, entry.name]));
        if (files.length < filesAtOnce) continue;
        yield files;
        files = [];
      }
    }
    yield files;
  }

  async #list(directory: string, segments: string[]) {
    try {
      const entries = await readdir(directory, { withFileTypes: true });
      return entries
        .filter((entry) => !entry.name.startsWith('.'))
        .filter((entry) => entry.isDirectory() || entry.isFile() || entry.isSymbolicLink())
        .sort((one, other) => (one.name < other.name ? -1 : 1));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      this.trouble ??= `The folder ${JSON.stringify(segments.join('/'))} cannot be listed (${code ?? 'unknown'})`;
      return [];
    }
  }

  #mayHaveMore(): boolean {
    const { maxFiles = defaultMaxFiles } = this.#options;
    this.#files += 1;
    if (this.#files <= maxFiles) return true;
    this.trouble ??= `The folder has more than ${maxFiles} documents; the rest was not read`;
    return false;
  }

  #listed(directory: string, place: string[]): ListedFile {
    const relative = place.join('/');
    const file = path.join(directory, place.at(-1) ?? '');
    return {
      uri: uriOfFile(relative),
      name: relative,
      mediaType: null,
      cursor: this.trouble === null ? { path: relative } : { path: relative, trouble: this.trouble },
      sha256: null,
      findStamp: () => findStamp(file, this.#options.now),
      open: () => openBelow(this.#options.root, file),
    };
  }
}

/** Resolves links before opening; opens without following links and without blocking. */
async function openBelow(root: string, file: string): Promise<Readable> {
  const base = await realpath(root);
  const found = await findBelow(base, path.relative(base, file));
  if (found === null) {
    throw documentErrors.raise.file_unreadable(
      'It is not a file below the folder, or it is a link that leads out of the folder',
    );
  }
  const handle: FileHandle = await open(
    found,
    constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
  );
  return handle.createReadStream({ highWaterMark: 256 * 1024 });
}
