/** Divides items into batches that respect both limits; an item that is larger than `maxSize` is a batch of its own. */
export function* batchesOf<T>(
  items: Iterable<T>,
  { maxItems, maxSize, sizeOf }: { maxItems: number; maxSize: number; sizeOf(item: T): number },
): Generator<T[]> {
  let batch: T[] = [];
  let size = 0;
  for (const item of items) {
    const more = sizeOf(item);
    if (batch.length > 0 && (batch.length >= maxItems || size + more > maxSize)) {
      yield batch;
      batch = [];
      size = 0;
    }
    batch.push(item);
    size += more;
  }
  if (batch.length > 0) yield batch;
}
