import type { JobKey } from '../types.ts';
import type { Decoded } from './thread-messages.ts';

/** What the first bytes of a file say that it is. */
export type ImageFormat = 'jpeg' | 'png' | 'gif' | 'webp' | 'tiff' | 'avif';

/** An image whose bytes are stored, and whose row is about to be. */
export interface StoredImage {
  fileId: string;
  rowNo: number;
  name: string;
  mediaType: string;
  sizeBytes: number;
  sha256: string;
  storageKey: string;
}

export type ImageKind = 'original' | 'thumbnail';

export interface ImageKey extends JobKey {
  itemId: number;
}

/** The file of an item, as it is sent to people. */
export interface ImageFile {
  name: string;
  mediaType: string;
  sizeBytes: number;
  sha256: string;
  storageKey: string;
}

export interface Thumbnail {
  itemId: number;
  bytes: Uint8Array;
}

/** The images of one job, for the processor that works on them. */
export interface JobImages {
  /** By the number of the row. A row without an image is missing. */
  listOriginals(rowNos: readonly number[]): Promise<Map<number, ImageFile>>;
  /** Waits until few enough others are decoded. */
  decode(file: ImageFile): Promise<Decoded>;
  /** In place of earlier ones. */
  saveThumbnails(thumbnails: readonly Thumbnail[]): Promise<void>;
}

/** The limits of images, on their way in and when they are decoded. */
export const imageLimits = {
  /** Of one job: as many files in a form, or entries of an archive that are images. */
  images: 10_000,
  imageBytes: 64 * 1024 * 1024,
  pixels: 100_000_000,
  /** What the pixels of all images that are decoded at the same time may take. */
  decodedBytes: 512 * 1024 * 1024,
  decodedAtOnce: 2,
  thumbnailPixels: 160,
  decodeMs: 20_000,
} as const;
