import { crc32, deflateSync } from 'node:zlib';
import sharp, { type Sharp } from 'sharp';

/** A picture that differs for every seed. */
export function picture({ seed = 1, width = 64, height = 48 } = {}): Sharp {
  const pixels = Buffer.alloc(width * height * 3);
  for (let at = 0; at < width * height; at += 1) {
    const [x, y] = [at % width, Math.floor(at / width)];
    const wave = Math.sin((x / width) * (seed + 2)) * Math.cos((y / height) * (seed * 2 + 1) + seed);
    pixels[at * 3] = Math.round(127 + 120 * wave);
    pixels[at * 3 + 1] = Math.round(127 - 100 * wave);
    pixels[at * 3 + 2] = (seed * 90) % 256;
  }
  return sharp(pixels, { raw: { width, height, channels: 3 } });
}

function chunk(type: string, content: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), content]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(content.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

/** A PNG that declares this size and has these rows of pixels, whether or not they match. */
export function pngOf({ width, height, rows }: { width: number; height: number; rows: Buffer }): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 8;
  header[9] = 2;
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

export interface BadImage {
  what: string;
  name: string;
  /** The code of the item that it becomes. */
  code: string;
  bytes: () => Buffer | Promise<Buffer>;
}

const svg = '<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>';
const heic = Buffer.concat([
  Buffer.from('0000001c66747970', 'hex'),
  Buffer.from('heic\0\0\0\0mif1heic', 'latin1'),
  Buffer.alloc(64),
]);

/** Files that somebody sends as images; each becomes one item with an error, and nothing else. */
export const badImages: readonly BadImage[] = [
  { what: 'nothing', name: 'empty.png', code: 'image_empty', bytes: () => Buffer.alloc(0) },
  {
    what: 'a text with the name of an image',
    name: 'notes.jpg',
    code: 'image_not_recognised',
    bytes: () => Buffer.from('not a picture\n'.repeat(20)),
  },
  {
    what: 'a PDF with the name of an image',
    name: 'page.png',
    code: 'image_not_recognised',
    bytes: () => Buffer.from('%PDF-1.7\n1 0 obj\n'),
  },
  {
    what: 'a PNG that is cut off',
    name: 'cut.png',
    code: 'image_damaged',
    bytes: async () => (await picture({ width: 300, height: 300 }).png().toBuffer()).subarray(0, 600),
  },
  {
    what: 'a JPEG that is cut off',
    name: 'cut.jpg',
    code: 'image_damaged',
    bytes: async () => (await picture({ width: 300, height: 300 }).jpeg().toBuffer()).subarray(0, 700),
  },
  {
    what: 'a JPEG that states a larger size than its data fill',
    name: 'lies.jpg',
    code: 'image_damaged',
    bytes: async () => stating(await picture({ width: 200, height: 200 }).jpeg().toBuffer(), 2_000),
  },
  {
    what: 'the first bytes of a WebP',
    name: 'head.webp',
    code: 'image_damaged',
    bytes: () => Buffer.from('RIFF\x24\0\0\0WEBPVP8 ', 'latin1'),
  },
  {
    what: 'more pixels said than there are',
    name: 'lies.png',
    code: 'image_damaged',
    bytes: () => pngOf({ width: 5_000, height: 5_000, rows: Buffer.alloc(1_000) }),
  },
  {
    what: 'almost a million million pixels',
    name: 'bomb.png',
    code: 'image_too_many_pixels',
    bytes: () => pngOf({ width: 900_000, height: 900_000, rows: Buffer.alloc(100) }),
  },
  {
    what: 'a picture of 400 million pixels in half a megabyte',
    name: 'large.png',
    code: 'image_too_many_pixels',
    bytes: () => pngOf({ width: 20_000, height: 20_000, rows: Buffer.alloc((20_000 * 60_001) / 8) }),
  },
  { what: 'SVG', name: 'drawing.svg', code: 'image_format_unsupported', bytes: () => Buffer.from(svg) },
  {
    what: 'SVG with the name of a PNG',
    name: 'drawing.png',
    code: 'image_format_unsupported',
    bytes: () => Buffer.from(`<?xml version="1.0"?>\n<!-- made by hand -->\n${svg}`),
  },
  { what: 'HEIC', name: 'phone.heic', code: 'image_format_unsupported', bytes: () => heic },
  {
    what: 'a BMP',
    name: 'old.bmp',
    code: 'image_format_unsupported',
    bytes: () => Buffer.concat([Buffer.from('BM\x46\0\0\0\0\0\0\0\x36\0\0\0', 'latin1'), Buffer.alloc(60)]),
  },
];

/** Writes another size into the frame header of a JPEG. */
function stating(jpeg: Buffer, pixels: number): Buffer {
  const changed = Buffer.from(jpeg);
  for (let at = 2; at < changed.length; at += 2 + changed.readUInt16BE(at + 2)) {
    const marker = changed[at + 1] ?? 0;
    if (marker < 0xc0 || marker > 0xc2) continue;
    changed.writeUInt16BE(pixels, at + 5);
    changed.writeUInt16BE(pixels, at + 7);
    return changed;
  }
  throw new Error('The JPEG has no frame header');
}
