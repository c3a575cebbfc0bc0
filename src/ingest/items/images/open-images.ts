import { Readable } from 'node:stream';
import type { Files } from '../../../kernel/files/types.ts';
import { isSluiceError } from '../../../lib/errors.ts';
import type { Archive, ArchiveEntry } from '../../../lib/formats/archive.ts';
import { ByteSource } from '../../../lib/formats/byte-source.ts';
import { newId } from '../../../lib/ids.ts';
import { readerErrors } from '../../../lib/rows/errors.ts';
import type { ParsedRow } from '../../../lib/rows/types.ts';
import { itemErrors } from '../errors.ts';
import type { JobSource } from '../types.ts';
import { imageErrors } from './errors.ts';
import { isDeclaredImage, isDeclaredRows, mediaTypeOf, recogniseImage, sniffBytes } from './recognise.ts';
import { type ArrivingFile, imageLimits, type StoredImage } from './types.ts';

/** A file whose first bytes were read; they are still part of the content. */
export interface SeenFile extends ArrivingFile {
  start: Buffer;
}

const pieceBytes = 64 * 1024;

export async function lookAt(file: ArrivingFile): Promise<SeenFile> {
  const bytes = new ByteSource(file.content, pieceBytes);
  const start = Buffer.from(await bytes.peek(sniffBytes));
  return { ...file, start, content: piecesOf(bytes) };
}

async function* piecesOf(bytes: ByteSource): AsyncGenerator<Uint8Array> {
  try {
    for (let piece = await bytes.next(); piece !== null; piece = await bytes.next()) yield piece;
  } finally {
    await bytes.close();
  }
}

/** Whether this is one of several images. Archives and other files are opened or refused elsewhere. */
export function isImageFile(file: SeenFile): boolean {
  if (isImageByContent(file)) return !isDeclaredRows(file);
  return recogniseImage(file.start).kind !== 'archive' && isDeclaredImage(file);
}

function isImageByContent({ start }: SeenFile): boolean {
  const { kind } = recogniseImage(start);
  return kind === 'image' || kind === 'unsupported';
}

interface ImageRow extends ParsedRow {
  image: StoredImage;
}

export interface OpenImagesOptions {
  files: Files;
  /** Of all images together. */
  maxUploadBytes: number;
  first: SeenFile;
  /** The files behind the first; null when there are no more. */
  more: () => Promise<ArrivingFile | null>;
}

export function openImages(options: OpenImagesOptions): JobSource {
  return new ImageSource({ files: options.files, sources: eachFile(options), name: null });
}

/** The images among rows; none in a file of rows. */
export function imagesIn(rows: readonly ParsedRow[]): StoredImage[] {
  return rows.flatMap((row) => ('image' in row ? [(row as ImageRow).image] : []));
}

/** Takes over the archive. */
export function openArchivedImages(
  archive: Archive,
  { files, fileName }: { files: Files; fileName: string | null },
): JobSource {
  const entries = archive.entries.filter(isWanted);
  if (entries.length > imageLimits.images) {
    archive.close();
    throw tooMany(entries.length);
  }
  return new ImageSource({
    files,
    sources: eachEntry(archive, entries),
    name: fileName,
    onClose: () => archive.close(),
  });
}

function tooMany(count: number) {
  return imageErrors.raise.too_many_images(
    `There are ${count} images; a job is made of at most ${imageLimits.images}`,
    { details: { max_images: imageLimits.images } },
  );
}

async function* eachFile({ first, more, maxUploadBytes }: OpenImagesOptions): AsyncGenerator<SeenFile> {
  const budget = { leftBytes: maxUploadBytes, maxBytes: maxUploadBytes };
  yield { ...first, content: counted(first.content, budget) };
  let hasImage = isImageByContent(first);
  for (let next = await more(); next !== null; next = await more()) {
    const file = await lookAt(next);
    if (!isImageFile(file)) throw mixed(file);
    hasImage ||= isImageByContent(file);
    yield { ...file, content: counted(file.content, budget) };
  }
  // Among images, a file that is not an image fails its item; alone, it fails the request.
  if (!hasImage) throw noImage(first);
}

function noImage({ fileName, mediaType, start }: SeenFile) {
  if (start.length === 0) return readerErrors.raise.empty_file('The file is empty: it has no bytes.');
  const seen = recogniseImage(start);
  const what = (seen.kind === 'other' ? seen.what : null) ?? 'something else';
  const declared = /^image\//i.test(mediaType ?? '')
    ? `declared as ${mediaType?.slice(0, 80)}`
    : 'named like an image';
  return readerErrors.raise.content_mismatch(
    `The file ${JSON.stringify(fileName ?? '')} is ${declared}, but is ${what}.`,
    { details: { declared: mediaType, detected: what } },
  );
}

function mixed({ fileName, start }: SeenFile) {
  const { kind } = recogniseImage(start);
  const what = kind === 'archive' ? 'a ZIP archive' : 'not an image';
  return itemErrors.raise.form_invalid(
    `The file ${JSON.stringify(fileName ?? '')} was sent with images but is ${what}; a job is made of one file ` +
      'of rows, of several images, or of one ZIP archive of images',
    { fields: [{ pointer: '/file', message: 'must be an image, as the first file is' }] },
  );
}

async function* counted(
  content: AsyncIterable<Uint8Array>,
  budget: { leftBytes: number; maxBytes: number },
): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    budget.leftBytes -= piece.length;
    if (budget.leftBytes < 0) {
      throw itemErrors.raise.upload_too_large(
        `The images have more than ${budget.maxBytes} bytes together, the most allowed`,
        { details: { max_bytes: budget.maxBytes } },
      );
    }
    yield piece;
  }
}

async function* eachEntry(archive: Archive, entries: readonly ArchiveEntry[]): AsyncGenerator<SeenFile> {
  let images = 0;
  for (const entry of entries) {
    const file = await lookAt({ fileName: nameOf(entry), mediaType: null, content: archive.read(entry) });
    if (isImageByContent(file)) images += 1;
    yield file;
  }
  if (images > 0) return;
  throw imageErrors.raise.no_images(`None of the ${entries.length} files in the archive is an image`);
}

const maxNameLength = 500;

/** A name that had to be changed could be another image's. */
function nameOf({ name }: ArchiveEntry): string {
  if (name.length <= maxNameLength && !/[\0\p{Surrogate}]/u.test(name)) return name;
  throw imageErrors.raise.image_name_refused(
    `The name of an entry is not allowed: it may have at most ${maxNameLength} characters, and no NUL or broken ` +
      'surrogate pair',
  );
}

/** Files that operating systems add to folders are ignored. */
function isWanted({ name }: ArchiveEntry): boolean {
  const steps = name.split('/');
  const last = steps.at(-1) ?? '';
  return (
    last !== '' &&
    !last.startsWith('.') &&
    !steps.includes('__MACOSX') &&
    !/^(thumbs\.db|desktop\.ini)$/i.test(last)
  );
}

/** The sweep removes stored bytes without a row after an hour: no image may wait that long for the next ones. */
const longestBatchMs = 5_000;

/** Rows of images: each is stored while it is read, and named by a row afterwards. */
class ImageSource implements JobSource {
  readonly jobType = 'image';
  readonly columns = ['name', 'size', 'sha256', 'fileId', 'order'];
  readonly #files: Files;
  readonly #sources: AsyncGenerator<SeenFile>;
  readonly #unnamed = new Set<string>();
  readonly #name: string | null;
  readonly #onClose: () => void;
  #firstName: string | null = null;
  #count = 0;

  constructor(parts: {
    files: Files;
    sources: AsyncGenerator<SeenFile>;
    name: string | null;
    onClose?: () => void;
  }) {
    this.#onClose = parts.onClose ?? (() => {});
    this.#files = parts.files;
    this.#sources = parts.sources;
    this.#name = parts.name;
  }

  async read(maxRows: number): Promise<ImageRow[] | null> {
    const untilMs = performance.now() + longestBatchMs;
    const rows: ImageRow[] = [];
    while (rows.length < maxRows && performance.now() < untilMs) {
      const next = await this.#sources.next();
      if (next.done) break;
      rows.push(await this.#store(next.value));
    }
    return rows.length === 0 ? null : rows;
  }

  written(rows: readonly ParsedRow[]): void {
    for (const { storageKey } of imagesIn(rows)) this.#unnamed.delete(storageKey);
  }

  async discard(): Promise<void> {
    // The caller gets the first failure; the sweep removes bytes that cannot be removed now.
    for (const storageKey of this.#unnamed) await this.#files.remove(storageKey).catch(() => {});
    this.#unnamed.clear();
  }

  async close(): Promise<void> {
    await this.#sources.return(undefined);
    this.#onClose();
  }

  describe(): string | null {
    if (this.#name !== null || this.#count < 2) return this.#name ?? this.#firstName;
    return `${this.#firstName} and ${this.#count - 1} more`;
  }

  async #store(file: SeenFile): Promise<ImageRow> {
    if (this.#count === imageLimits.images) throw tooMany(this.#count + 1);
    const rowNo = this.#count + 1;
    const name = file.fileName ?? `image ${rowNo}`;
    const stored = await this.#keep(file, name);
    this.#unnamed.add(stored.storageKey);
    this.#count = rowNo;
    this.#firstName ??= name;
    const mediaType = mediaTypeOf(recogniseImage(file.start));
    const image: StoredImage = { fileId: newId(), rowNo, name, mediaType, ...stored };
    const { fileId, sizeBytes: size, sha256 } = image;
    const inputJson = JSON.stringify({ name, size, sha256, fileId, order: rowNo });
    return { rowNo, inputJson, sizeBytes: Buffer.byteLength(inputJson), image };
  }

  async #keep({ content }: SeenFile, name: string) {
    try {
      return await this.#files.store(Readable.from(content), { maxBytes: imageLimits.imageBytes });
    } catch (error) {
      if (!isSluiceError(error) || error.code !== 'file_too_large') throw error;
      throw imageErrors.raise.image_file_too_large(
        `The image ${JSON.stringify(name)} has more than ${imageLimits.imageBytes} bytes, the most allowed`,
        { details: { max_bytes: imageLimits.imageBytes }, cause: error },
      );
    }
  }
}
