import { afterAll, expect, test } from 'vitest';
import { picture } from '../../../../test/generators/images.ts';
import { ImageDecoder } from './decoder.ts';
import { imageLimits } from './types.ts';

const decoder = new ImageDecoder();
afterAll(() => decoder.close());

async function fresh(seed: number): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await picture({ seed }).png().toBuffer());
}

test('only as many images are in memory as are decoded at once', async () => {
  let begun = 0;
  let goOn = () => {};
  const gate = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const read = async () => {
    begun += 1;
    await gate;
    return fresh(begun);
  };
  const asked = Array.from({ length: 12 }, () => decoder.decode(read));
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toBe(imageLimits.decodedAtOnce);
  goOn();
  expect((await Promise.all(asked)).map(({ ok }) => ok)).toEqual(asked.map(() => true));
  expect(begun).toBe(12);
});

test('an image that cannot be read from storage fails alone, and frees its slot', async () => {
  const lost = () => Promise.reject(new Error('gone'));
  for (let at = 0; at < imageLimits.decodedAtOnce + 1; at += 1) {
    await expect(decoder.decode(lost)).rejects.toThrow('gone');
  }
  expect(await decoder.decode(() => fresh(1))).toMatchObject({ ok: true });
});

test('a decoder that crashes is retried in a new thread', async () => {
  let hasRead = () => {};
  const read = new Promise<void>((resolve) => {
    hasRead = resolve;
  });
  const begun = decoder.decode(async () => {
    const bytes = await fresh(2);
    hasRead();
    return bytes;
  });
  const failed = expect(begun).rejects.toMatchObject({ code: 'image_decoder_failed', kind: 'transient' });
  await read;
  // Asked by then, and not answered: an answer needs a turn of the event loop.
  await Promise.resolve();
  await decoder.close();
  await failed;
  expect(await decoder.decode(() => fresh(3))).toMatchObject({ ok: true, facts: { format: 'png' } });
});
