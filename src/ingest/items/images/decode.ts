import type { Metadata, Sharp, SharpOptions } from 'sharp';
import { messageOf } from '../../../lib/errors.ts';
import { recogniseImage, sniffBytes } from './recognise.ts';
import type { Decoded, DecodeFailureCode, ImageFacts } from './types.ts';
import { type ImageFormat, imageLimits } from './types.ts';

type OpenImage = (input: Uint8Array, options: SharpOptions) => Sharp;

/**
 * Loads the decoder, narrowed to what we read: every other loader that libvips has (SVG, which can name files, first of
 * all) is switched off. One thread per image and no cache, so that memory is what the images at hand take.
 */
export async function loadDecoder(): Promise<OpenImage> {
  const { default: sharp } = await import('sharp');
  sharp.concurrency(1);
  sharp.cache(false);
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: [...loaders] });
  return sharp;
}

const loaders = [
  'VipsForeignLoadJpegBuffer',
  'VipsForeignLoadPngBuffer',
  'VipsForeignLoadWebpBuffer',
  'VipsForeignLoadNsgifBuffer',
  'VipsForeignLoadTiffBuffer',
  'VipsForeignLoadHeifBuffer',
] as const;

const openOptions: SharpOptions = {
  failOn: 'error',
  limitInputPixels: imageLimits.pixels,
  // The first page or frame stands for all of them.
  pages: 1,
  sequentialRead: true,
};

/**
 * Everything that is known about an image, or why it cannot be decoded. The library collects its error messages for all
 * images in one place, and a failure is known by its message alone. So an image that fails while others are decoded is
 * decoded again with all the room to itself.
 */
export async function decodeImage(open: OpenImage, bytes: Uint8Array, room: PixelRoom): Promise<Decoded> {
  const unread = refusalByLooks(
    Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, sniffBytes)),
  );
  if (unread !== null) return unread;
  try {
    return await decodeBeside(open, bytes, room);
  } catch {
    return await decodeAlone(open, bytes, room);
  }
}

/** Rejects for any failure except a timeout, which is known by the clock and not by a message. */
async function decodeBeside(open: OpenImage, bytes: Uint8Array, room: PixelRoom): Promise<Decoded> {
  const metadata = await within(room, bytes.length, () => open(bytes, openOptions).metadata());
  const refusal = refusalOf(metadata);
  if (refusal !== null) return refusal;
  const failOn = metadata.format === 'jpeg' ? 'warning' : 'error';
  return within(room, decodedBytesOf(metadata), async () => {
    const startedAt = performance.now();
    try {
      return await readPixels(open, bytes, { metadata, failOn });
    } catch (error) {
      if (performance.now() - startedAt >= imageLimits.decodeMs) return takesTooLong();
      throw error;
    }
  });
}

function decodeAlone(open: OpenImage, bytes: Uint8Array, room: PixelRoom): Promise<Decoded> {
  return within(room, Number.POSITIVE_INFINITY, async () => {
    try {
      const metadata = await open(bytes, openOptions).metadata();
      return refusalOf(metadata) ?? (await readStrictly(open, bytes, metadata));
    } catch (error) {
      return failureOf(error);
    }
  });
}

async function within<Result>(room: PixelRoom, bytes: number, work: () => Promise<Result>): Promise<Result> {
  const leave = await room.take(bytes);
  try {
    return await work();
  } finally {
    leave();
  }
}

/** By the first bytes: the library need not see what it would not read. */
function refusalByLooks(start: Buffer): Decoded | null {
  if (start.length === 0) return refused('image_empty', 'The file has no bytes');
  const seen = recogniseImage(start);
  switch (seen.kind) {
    case 'image':
      return null;
    case 'unsupported':
      return refused('image_format_unsupported', `The image is ${seen.what}; it is not decoded here`);
    case 'archive':
      return refused(
        'image_not_recognised',
        'The file is a ZIP archive; archives within archives are not opened',
      );
    case 'other':
      return refused(
        'image_not_recognised',
        `The file is ${seen.what ?? 'of an unknown kind'}, and not an image`,
      );
  }
}

function refusalOf(metadata: Metadata): Decoded | null {
  const { width, height, format, compression } = metadata;
  if (format === 'heif' && compression !== 'av1') {
    return refused('image_format_unsupported', 'The image is HEIC, whose codec is not free to use');
  }
  const decodedBytes = decodedBytesOf(metadata);
  if (width * height <= imageLimits.pixels && decodedBytes <= imageLimits.decodedBytes) return null;
  return refused(
    'image_too_many_pixels',
    `The image has ${width} × ${height} pixels, which take ${mebibytes(decodedBytes)} MiB; at most ` +
      `${imageLimits.pixels / 1e6} million pixels and ${mebibytes(imageLimits.decodedBytes)} MiB are decoded`,
  );
}

const mebibytes = (bytes: number): number => Math.round(bytes / 1024 ** 2);

const sampleBytes: Record<string, number> = { uchar: 1, char: 1, ushort: 2, short: 2, double: 8 };

function decodedBytesOf({ width, height, channels, depth }: Metadata): number {
  return width * height * Math.max(channels ?? 4, 3) * (sampleBytes[depth] ?? 4);
}

/**
 * When a JPEG has less data than its size needs, the library only warns, and paints the rest grey. Other warnings are
 * ignored: many cameras write files that cause them.
 */
async function readStrictly(open: OpenImage, bytes: Uint8Array, metadata: Metadata): Promise<Decoded> {
  const read = (failOn: 'error' | 'warning') => readPixels(open, bytes, { metadata, failOn });
  if (metadata.format !== 'jpeg') return read('error');
  try {
    return await read('warning');
  } catch (error) {
    if (endsEarly.test(messageOf(error))) throw error;
    return await read('error');
  }
}

const endsEarly = /premature end of (JPEG file|data segment)/i;

/** The decoding itself happens once: the hash and the colour are of the thumbnail. */
async function readPixels(
  open: OpenImage,
  bytes: Uint8Array,
  { metadata, failOn }: { metadata: Metadata; failOn: 'error' | 'warning' },
): Promise<Decoded> {
  const size = imageLimits.thumbnailPixels;
  const { data: pixels, info } = await open(bytes, { ...openOptions, failOn })
    .timeout({ seconds: imageLimits.decodeMs / 1000 })
    .autoOrient()
    .resize(size, size, { fit: 'inside', withoutEnlargement: true })
    .toColourspace('srgb')
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const small = { width: info.width, height: info.height, channels: 4 } as const;
  const redraw = () => open(pixels, { raw: small });
  const [thumbnail, hashPixels, mean] = [
    await redraw().webp({ quality: 75, effort: 3 }).toBuffer(),
    await redraw()
      .flatten({ background: '#808080' })
      .greyscale()
      .resize(9, 8, { fit: 'fill' })
      .raw()
      .toBuffer(),
    await redraw().flatten({ background: '#ffffff' }).resize(1, 1, { fit: 'fill' }).raw().toBuffer(),
  ];
  return {
    ok: true,
    facts: { ...factsOf(metadata), dHash: dHashOf(hashPixels), meanColour: `#${mean.toString('hex', 0, 3)}` },
    thumbnail: new Uint8Array(thumbnail),
  };
}

function factsOf(metadata: Metadata): Omit<ImageFacts, 'dHash' | 'meanColour'> {
  const { format, orientation = 1, hasAlpha, pages = 1, autoOrient } = metadata;
  return {
    format: (format === 'heif' ? 'avif' : format) as ImageFormat,
    width: autoOrient.width,
    height: autoOrient.height,
    orientation,
    hasAlpha: hasAlpha ?? false,
    pages,
  };
}

/** One bit per pixel: whether it is darker than its right neighbour. Nine columns make eight differences. */
function dHashOf(greys: Buffer): string {
  let bits = 0n;
  for (let row = 0; row < 8; row += 1) {
    for (let column = 0; column < 8; column += 1) {
      const at = row * 9 + column;
      bits = (bits << 1n) | ((greys[at] ?? 0) < (greys[at + 1] ?? 0) ? 1n : 0n);
    }
  }
  return bits.toString(16).padStart(16, '0');
}

function refused(code: DecodeFailureCode, message: string): Decoded {
  return { ok: false, code, message };
}

function takesTooLong(): Decoded {
  const seconds = imageLimits.decodeMs / 1000;
  return refused('image_takes_too_long', `The image took more than ${seconds} s to decode`);
}

/** Maps messages of libvips to our codes; the message is kept, because it names the place. */
function failureOf(error: unknown): Decoded {
  const words = (messageOf(error).split('\n')[0] ?? '').replace(/[:\s]+$/, '').slice(0, 300);
  if (/exceeds pixel limit/i.test(words)) {
    return refused(
      'image_too_many_pixels',
      `The image has more than ${imageLimits.pixels / 1e6} million pixels, the most that is decoded`,
    );
  }
  if (/timeout/i.test(words)) return takesTooLong();
  if (/unsupported (image format|codec|feature)|compression format not/i.test(words)) {
    return refused('image_format_unsupported', `The image is of a kind that is not decoded: ${words}`);
  }
  const why = words === '' ? 'its data is damaged or ends too early' : words;
  return refused('image_damaged', `The image cannot be decoded: ${why}`);
}

/** Limits the pixels in memory: each image waits until earlier ones have left enough room. */
export interface PixelRoom {
  /** A request for more than the whole room gets the whole room. */
  take(bytes: number): Promise<() => void>;
}

/** First come, first served: small images cannot overtake a large one forever. */
export function openRoom(bytes: number): PixelRoom {
  let free = bytes;
  const waiting: { wanted: number; enter: () => void }[] = [];
  const admit = (): void => {
    for (let first = waiting[0]; first !== undefined && first.wanted <= free; first = waiting[0]) {
      waiting.shift();
      free -= first.wanted;
      first.enter();
    }
  };
  return {
    take: (asked) =>
      new Promise((resolve) => {
        const wanted = Math.min(asked, bytes);
        const leave = (): void => {
          free += wanted;
          admit();
        };
        waiting.push({ wanted, enter: () => resolve(leave) });
        admit();
      }),
  };
}
