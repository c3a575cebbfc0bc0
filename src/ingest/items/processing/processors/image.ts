import { z } from 'zod';
import { imageFailures } from '../../images/errors.ts';
import { formatOfName } from '../../images/recognise.ts';
import type { Decoded } from '../../images/types.ts';
import { type ImageFile, imageLimits, type JobImages, type Thumbnail } from '../../images/types.ts';
import { parseOptions } from './options.ts';
import { endsSlice, failure, failureOf, stoppedOutcome } from './outcomes.ts';
import type { ItemError, ItemInput, ItemOutcome, Processor, ProcessorContext } from './types.ts';

const schema = z.strictObject({});

/** What an image is, and a thumbnail of it. */
export const imageProcessor: Processor = {
  name: 'image',
  isPure: false,
  validateOptions: (options) => parseOptions(schema, { processor: 'image', options }),
  process: processImages,
};

/** What the images of one `process` share. */
interface Run {
  images: JobImages;
  context: ProcessorContext;
  originals: Map<number, ImageFile>;
  outcomes: Map<ItemInput, ItemOutcome>;
  thumbnails: Thumbnail[];
}

async function processImages(
  items: ItemInput[],
  _options: unknown,
  context: ProcessorContext,
): Promise<ItemOutcome[]> {
  const { images } = context;
  if (images === undefined) return items.map(() => withoutImage);
  const originals = await images.listOriginals(items.map(({ rowNo }) => rowNo));
  const run: Run = { images, context, originals, outcomes: new Map(), thumbnails: [] };
  const queue = items.values();
  const worker = async (): Promise<void> => {
    for (const item of queue) {
      if (context.signal.aborted) return;
      run.outcomes.set(item, await processImage(run, item));
    }
  };
  await Promise.all(Array.from({ length: imageLimits.decodedAtOnce }, worker));
  await images.saveThumbnails(run.thumbnails);
  return items.map((item) => run.outcomes.get(item) ?? stoppedOutcome());
}

async function processImage(run: Run, item: ItemInput): Promise<ItemOutcome> {
  const file = run.originals.get(item.rowNo);
  if (file === undefined) return withoutImage;
  try {
    // Also renews the lock: images that wait in the batch must not be taken over.
    await run.context.assertHeld();
    const decoded = await run.images.decode(file);
    if (!decoded.ok) return refusal(decoded);
    run.thumbnails.push({ itemId: item.id, bytes: decoded.thumbnail });
    return { status: 'DONE', result: resultOf(file, decoded) };
  } catch (error) {
    if (endsSlice(error)) throw error;
    return run.context.signal.aborted ? stoppedOutcome() : failureOf(error);
  }
}

/** In the order of the exported columns. */
function resultOf(file: ImageFile, { facts }: Extract<Decoded, { ok: true }>): Record<string, unknown> {
  const { name, sizeBytes: size, sha256 } = file;
  const { format, width, height, orientation, pages, hasAlpha, meanColour, dHash } = facts;
  const named = formatOfName(name);
  const note =
    named === null || named === format ? null : `The name says ${named}, and the content is ${format}`;
  return {
    ...{ name, size, sha256, format, width, height, orientation, pages },
    ...{ animated: pages > 1 && (format === 'gif' || format === 'webp'), hasAlpha, meanColour, dHash, note },
  };
}

/** Permanent: a retry would read the same bytes. */
function refusal({ code, message }: Extract<Decoded, { ok: false }>): ItemError {
  return failure({ code, message, class: 'permanent' });
}

const withoutImage: ItemOutcome = refusal({
  ok: false,
  code: 'image_missing',
  message: imageFailures.definitions.image_missing.title,
});
