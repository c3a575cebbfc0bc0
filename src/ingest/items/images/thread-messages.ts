import type { ImageFormat } from './types.ts';

export interface DecodeQuestion {
  id: number;
  /** Handed over, not copied. */
  bytes: Uint8Array<ArrayBuffer>;
}

export interface ImageFacts {
  format: ImageFormat;
  /** As people see it: after the turn that the camera asked for. */
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

/** Codes of `imageFailures`: a thread can hand over text, but no error of ours. */
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
