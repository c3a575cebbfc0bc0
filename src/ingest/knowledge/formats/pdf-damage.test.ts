import { afterAll, expect, test } from 'vitest';
import { seededRandom } from '../../../../test/chaos/seeded-random.ts';
import { pdfDocument } from '../../../../test/generators/pdf-document.ts';
import { mutate } from '../../../../test/generators/reader-fuzz.ts';
import { DocumentReader } from './document-reader.ts';
import { readDocument } from './read-document.ts';

const reader = new DocumentReader();
afterAll(() => reader.close());

test('damage that the PDF library reports by an unhandled promise does not end the thread', async () => {
  const { signal } = new AbortController();
  const documents = [
    pdfDocument({ pages: [['Some words'], ['More']], title: 'T' }),
    pdfDocument({ pages: [['Some words'], [], ['More']], isCompressed: true }),
  ];
  for (const seed of [1308, 1320, 1495, 1709, 1717]) {
    const random = seededRandom(seed);
    const once = mutate(random.pick(documents) ?? Buffer.alloc(0), random);
    const result = await readDocument({ bytes: mutate(once, random), name: 'a.pdf' }, { signal, reader });
    expect(result, `seed ${seed}`).not.toMatchObject({ code: 'document_reader_failed' });
  }
});
