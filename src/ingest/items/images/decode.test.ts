import { beforeAll, describe, expect, test } from 'vitest';
import { badImages, picture, pngOf } from '../../../../test/generators/images.ts';
import { decodeImage, loadDecoder, openRoom } from './decode.ts';
import { recogniseImage, sniffBytes } from './recognise.ts';
import type { Decoded } from './types.ts';
import { imageLimits } from './types.ts';

const room = openRoom(imageLimits.decodedBytes);
let open: Awaited<ReturnType<typeof loadDecoder>>;
beforeAll(async () => {
  open = await loadDecoder();
});

async function factsOf(bytes: Buffer): Promise<Extract<Decoded, { ok: true }>> {
  const decoded = await decodeImage(open, bytes, room);
  if (!decoded.ok) throw new Error(`${decoded.code}: ${decoded.message}`);
  return decoded;
}

describe('an image', () => {
  test.each(['jpeg', 'png', 'gif', 'webp', 'tiff', 'avif'] as const)(
    'of format %s is read',
    async (format) => {
      const bytes = await picture({ width: 200, height: 100 }).toFormat(format).toBuffer();
      const { facts, thumbnail } = await factsOf(bytes);
      expect(facts).toMatchObject({ format, width: 200, height: 100, orientation: 1, pages: 1 });
      expect(recogniseImage(bytes.subarray(0, sniffBytes))).toEqual({ kind: 'image', format });
      expect(recogniseImage(Buffer.from(thumbnail))).toEqual({ kind: 'image', format: 'webp' });
      expect((await factsOf(Buffer.from(thumbnail))).facts).toMatchObject({ width: 160, height: 80 });
    },
  );

  test('has its visible size when the camera was rotated', async () => {
    const bytes = await picture({ width: 200, height: 100 })
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer();
    const { facts, thumbnail } = await factsOf(bytes);
    expect(facts).toMatchObject({ width: 100, height: 200, orientation: 6 });
    expect((await factsOf(Buffer.from(thumbnail))).facts).toMatchObject({ width: 80, height: 160 });
  });

  test('is not enlarged when it is smaller than a thumbnail, and keeps its colour', async () => {
    const red = await picture({ width: 3, height: 2 })
      .composite([{ input: { create: { width: 3, height: 2, channels: 3, background: '#ff0000' } } }])
      .png()
      .toBuffer();
    const { facts, thumbnail } = await factsOf(red);
    expect(facts.meanColour).toBe('#ff0000');
    expect((await factsOf(Buffer.from(thumbnail))).facts).toMatchObject({ width: 3, height: 2 });
  });

  test('has a similar hash when it is scaled or converted, and another image has not', async () => {
    const whole = (await factsOf(await picture({ seed: 3, width: 400, height: 300 }).png().toBuffer())).facts;
    const small = await picture({ seed: 3, width: 400, height: 300 }).resize(200).jpeg().toBuffer();
    const other = (await factsOf(await picture({ seed: 8, width: 400, height: 300 }).png().toBuffer())).facts;
    expect(whole.dHash).toMatch(/^[0-9a-f]{16}$/);
    expect(differingBits(whole.dHash, (await factsOf(small)).facts.dHash)).toBeLessThanOrEqual(6);
    expect(differingBits(whole.dHash, other.dHash)).toBeGreaterThan(10);
  });

  test('reports its number of frames and whether it has transparency', async () => {
    const frames = Buffer.alloc(20 * 60 * 4, 90);
    frames.fill(200, 20 * 20 * 4, 20 * 40 * 4);
    const gif = await open(frames, { raw: { width: 20, height: 60, channels: 4, pageHeight: 20 } })
      .gif({ delay: [100, 100, 100] })
      .toBuffer();
    expect((await factsOf(gif)).facts).toMatchObject({ width: 20, height: 20, pages: 3, hasAlpha: true });
  });

  test('is read when all its pixels are there, however small the file is', async () => {
    const flat = pngOf({ width: 3_000, height: 2_000, rows: Buffer.alloc(2_000 * 9_001) });
    expect((await factsOf(flat)).facts).toMatchObject({ width: 3_000, height: 2_000, meanColour: '#000000' });
  });
});

function differingBits(one: string, other: string): number {
  const bits = BigInt(`0x${one}`) ^ BigInt(`0x${other}`);
  return bits.toString(2).replaceAll('0', '').length;
}

describe('a file that is not an image', () => {
  test.each(badImages)('($what) is reported as such', async ({ bytes, code }) => {
    expect(await decodeImage(open, await bytes(), room)).toMatchObject({ ok: false, code });
  });

  test('gets its own error message, whatever else is decoded at the same time', async () => {
    const shared = openRoom(imageLimits.decodedBytes);
    const sent = await Promise.all(badImages.map(async (bad) => ({ ...bad, bytes: await bad.bytes() })));
    const quick = sent.filter(({ bytes }) => bytes.length < 100_000);
    for (let round = 0; round < 40; round += 1) {
      const decoded = await Promise.all(quick.map(({ bytes }) => decodeImage(open, bytes, shared)));
      expect(decoded).toMatchObject(quick.map(({ code }) => ({ ok: false, code })));
      expect(JSON.stringify(decoded)).not.toMatch(/unknown error/i);
    }
  });

  test('is refused by the library too', async () => {
    const drawing = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>');
    await expect(open(drawing, {}).metadata()).rejects.toThrow();
  });
});
