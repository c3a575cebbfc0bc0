import type { FileRecord } from '../../../kernel/files/types.ts';

/** A file as it arrives. It is read to its end before the next one. */
export interface ArrivingFile {
  fileName: string | null;
  mediaType: string | null;
  content: AsyncIterable<Uint8Array>;
}

/** By the first bytes of a file. */
export type ImageFormat = 'jpeg' | 'png' | 'gif' | 'webp' | 'tiff' | 'avif';

export type ImageKind = 'original' | 'thumbnail';

/** The file of an item, as it is sent to people. */
export type ImageFile = Pick<FileRecord, 'name' | 'mediaType' | 'sizeBytes' | 'sha256' | 'storageKey'>;

/** An image whose bytes are stored, and whose row is about to be. */
export interface StoredImage extends ImageFile {
  fileId: string;
  rowNo: number;
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
  /** Replaces earlier ones. */
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

export interface DecodeQuestion {
  id: number;
  /** Transferred, not copied. */
  bytes: Uint8Array<ArrayBuffer>;
}

export interface ImageFacts {
  format: ImageFormat;
  /** As people see it: after the rotation in the EXIF data. */
  width: number;
  height: number;
  /** Of the EXIF data, from 1 to 8; 1 is upright. */
  orientation: number;
  hasAlpha: boolean;
  pages: number;
  /** A perceptual hash of 64 bits: images that look alike differ in few of them. */
  dHash: string;
  meanColour: string;
}

/** Codes of `imageFailures`: a thread can send text, but no SluiceError. */
export type DecodeFailureCode =
  | 'image_missing'
  | 'image_empty'
  | 'image_not_recognised'
  | 'image_format_unsupported'
  | 'image_damaged'
  | 'image_too_many_pixels'
  | 'image_takes_too_long';

export type Decoded =
  | { ok: true; facts: ImageFacts; thumbnail: Uint8Array<ArrayBuffer> }
  | { ok: false; code: DecodeFailureCode; message: string };

export type DecodeAnswer = { id: number } & Decoded;
