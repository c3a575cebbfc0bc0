import type { Readable } from 'node:stream';
import { storableText } from '../formats/safe-text.ts';
import type { DocumentLimits } from '../formats/types.ts';
import type { KnowledgeFile } from '../types.ts';
import { fileBatches, type ListedFile } from './file-batches.ts';
import type { Source, SourceCursor } from './source.ts';

export type StoredFile = Pick<KnowledgeFile, 'fileId' | 'name' | 'mediaType' | 'sha256'>;

export interface FilesSourceOptions {
  /** By name, after `afterName`. */
  listFiles(page: { afterName: string | null; limit: number }): Promise<StoredFile[]>;
  openFile(file: StoredFile): Promise<Readable>;
  limits?: Partial<DocumentLimits>;
}

const pageSize = 500;

/** The files of a knowledge base. A file with the same name and bytes is not read again. */
export function createFilesSource(options: FilesSourceOptions): Source {
  return {
    batches: (context) =>
      fileBatches(listedFiles(options, context.cursor), {
        context,
        limits: options.limits ?? {},
        end: () => ({ isComplete: true }),
      }),
  };
}

export function uriOfFile(name: string): string {
  return `file:${storableText(name)}`;
}

async function* listedFiles(
  { listFiles, openFile }: FilesSourceOptions,
  cursor: SourceCursor | null,
): AsyncGenerator<ListedFile[]> {
  let afterName = typeof cursor?.name === 'string' ? cursor.name : null;
  for (;;) {
    const page = await listFiles({ afterName, limit: pageSize });
    yield page.map((file) => ({
      uri: uriOfFile(file.name),
      name: file.name,
      mediaType: file.mediaType,
      cursor: { name: file.name },
      sha256: file.sha256,
      findStamp: null,
      open: () => openFile(file),
    }));
    if (page.length < pageSize) return;
    afterName = page.at(-1)?.name ?? null;
  }
}
