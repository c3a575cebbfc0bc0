import { Readable } from 'node:stream';
import { forgetUnlessCommitted } from '../../../kernel/files/service.ts';
import { insertFiles } from '../../../kernel/files/store.ts';
import type { Files, StoredContent } from '../../../kernel/files/types.ts';
import type { Ground } from '../../../kernel/house/house.ts';
import { newId } from '../../../lib/ids.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import type { ItemJob, JobKey } from '../types.ts';
import type { ImageDecoder } from './decoder.ts';
import { deleteImages, insertImages, listImages, lockRows } from './image-store.ts';
import { type ImageFile, imageLimits, type JobImages, type StoredImage, type Thumbnail } from './types.ts';

export interface ImageDeps extends Pick<Ground, 'db' | 'files'> {
  decoder: ImageDecoder;
}

/** What a processor may do with the images of its job. */
export function imagesOf(deps: ImageDeps, job: ItemJob): JobImages {
  const { tenantId, jobId } = job;
  return {
    listOriginals: async (rowNos) => {
      const rows = await deps.db.tenant(tenantId, (tx) =>
        listImages(tx, { tenantId, jobId, kind: 'original', rowNos }),
      );
      return new Map(rows.map(({ rowNo, ...file }) => [rowNo, file]));
    },
    decode: (file) => deps.decoder.decode(() => readWhole(deps.files, file)),
    saveThumbnails: (thumbnails) => saveThumbnails(deps, job, thumbnails),
  };
}

/** Writes the rows of ingested images, in the transaction that writes their items. */
export async function recordImages(
  tx: Tx,
  { files, key, images }: { files: Files; key: JobKey & { userId: string }; images: readonly StoredImage[] },
): Promise<void> {
  const { tenantId, userId: createdBy } = key;
  const rows = images.map(({ rowNo: _rowNo, ...image }) => ({
    ...image,
    tenantId,
    createdBy,
    storage: files.backend,
  }));
  await insertFiles(tx, rows);
  await insertImages(tx, key, { kind: 'original', images });
}

/** Its length is known, so it is read into one buffer that can be transferred to the thread. */
async function readWhole(files: Files, file: ImageFile): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(file.sizeBytes);
  let read = 0;
  for await (const piece of (await files.open(file.storageKey)) as AsyncIterable<Buffer>) {
    if (read + piece.length > bytes.length) break;
    bytes.set(piece, read);
    read += piece.length;
  }
  if (read === bytes.length) return bytes;
  throw new Error(`The stored file ${file.storageKey} no longer has its ${file.sizeBytes} bytes`);
}

interface StoredThumbnail {
  itemId: number;
  fileId: string;
  stored: StoredContent;
}

/**
 * Bytes first, rows second. They are not part of the transaction that finishes the items: a late worker has made the
 * same thumbnails of the same images.
 */
async function saveThumbnails(
  { db, files }: ImageDeps,
  job: ItemJob,
  thumbnails: readonly Thumbnail[],
): Promise<void> {
  if (thumbnails.length === 0) return;
  const stored: StoredThumbnail[] = [];
  try {
    for (const { itemId, bytes } of thumbnails) {
      const content = Readable.from([Buffer.from(bytes)]);
      const kept = await files.store(content, { maxBytes: imageLimits.imageBytes });
      stored.push({ itemId, fileId: newId(), stored: kept });
    }
    await db.tenant(job.tenantId, (tx) => replaceThumbnails(tx, { files, job, stored }));
  } catch (error) {
    for (const { storageKey } of stored.map((one) => one.stored)) {
      await forgetUnlessCommitted(files, storageKey, error);
    }
    throw error;
  }
}

async function replaceThumbnails(
  tx: Tx,
  { files, job, stored }: { files: Files; job: ItemJob; stored: readonly StoredThumbnail[] },
): Promise<void> {
  const { tenantId, jobId, userId: createdBy } = job;
  const rowNoOf = await lockRows(tx, { tenantId, jobId, itemIds: stored.map(({ itemId }) => itemId) });
  const here = stored.flatMap((one) => {
    const rowNo = rowNoOf.get(one.itemId);
    return rowNo === undefined ? [] : [{ ...one, rowNo }];
  });
  const gone = stored
    .filter(({ itemId }) => !rowNoOf.has(itemId))
    .map(({ stored: { storageKey } }) => storageKey);
  if (here.length > 0) {
    const old = { tenantId, jobId, kind: 'thumbnail', rowNos: here.map(({ rowNo }) => rowNo) } as const;
    gone.push(...(await listImages(tx, old)).map(({ storageKey }) => storageKey));
    await deleteImages(tx, old);
    const file = { tenantId, createdBy, mediaType: 'image/webp', storage: files.backend };
    await insertFiles(
      tx,
      here.map(({ fileId, rowNo, stored: content }) => ({
        ...file,
        ...content,
        fileId,
        name: `thumbnail-${rowNo}.webp`,
      })),
    );
    await insertImages(tx, job, { kind: 'thumbnail', images: here });
  }
  tx.afterCommit(() => {
    // What cannot be removed now is an orphan, and the sweep will find it.
    for (const storageKey of gone) files.remove(storageKey).catch(() => {});
  });
}
