import { describe, expect, test, vi } from 'vitest';
import { storable } from '../../../lib/well-formed.ts';
import { loadTokenCounter } from '../embedders/local-assets.ts';
import type { Chunk, ChunkerSettings } from './chunker.ts';
import { createChunker } from './create-chunker.ts';
import { cutText } from './cut-text.ts';

vi.setConfig({ testTimeout: 120_000 });

const countTokens = await loadTokenCounter();
const settings: ChunkerSettings = { strategy: 'markdown', maxTokens: 400 };
const chunker = createChunker(settings, { countTokens });
/** Beyond what is cut on the main thread. */
const longUnits = 140_000;
/** Beyond one piece of what is handed to the other one. */
const piecesUnits = 1_060_000;

describe('a text', () => {
  test.each([
    { what: 'that is short', text: textOf(2_000) },
    { what: 'that is long', text: textOf(longUnits) },
    { what: 'of one long line', text: 'every word of it is in the same line '.repeat(longUnits / 37) },
    // The border of two pieces goes through a character here, and there is half a one and a NUL besides.
    { what: 'of signs of two units', text: `\ud83d\0x${'\u{1f6a4} boat '.repeat(piecesUnits / 8)}` },
  ])('$what is cut as the chunker cuts it', async ({ text }) => {
    const cut: Chunk[] = [];
    for await (const chunk of cutText(chunker, text)) cut.push(chunk);
    expect(cut).toEqual([...chunker.chunks(storable(text))]);
  });

  test('a text that is long does not block the main thread while it is cut', async () => {
    const counting = createChunker(settings, {
      countTokens: () => {
        throw new Error('A long text was measured on the main thread');
      },
    });
    const cutting = cutText(counting, textOf(longUnits));
    const first = await cutting.next();
    await cutting.return(undefined);
    expect(first.value).toMatchObject({ start: 0 });
  });

  test('a text that is not read to its end leaves no thread behind', async () => {
    const others = new Set(openThreads());
    const ofThisCut = () => openThreads().filter((id) => !others.has(id));
    const cutting = cutText(chunker, textOf(longUnits));
    await cutting.next();
    expect(ofThisCut()).toHaveLength(1);
    await cutting.return(undefined);
    expect(ofThisCut()).toEqual([]);
  });
});

/** Threads of other tests may be in this process as well, such as an embedder that waits for its next text. */
function openThreads(): number[] {
  const report = process.report.getReport() as unknown as { workers: { header: { threadId: number } }[] };
  return report.workers.map(({ header }) => header.threadId);
}

function textOf(units: number): string {
  const parts: string[] = [];
  for (let at = 0, size = 0; size < units; at += 1) {
    const part = `## Part ${at}\n\nThe keeper of lock ${at} lets the barges through, one by one.\n\n`;
    parts.push(part);
    size += part.length;
  }
  return parts.join('');
}
