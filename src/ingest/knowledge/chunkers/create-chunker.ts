import type { Chunk, Chunker, ChunkerSettings, CountTokens } from './chunker.ts';
import { cutFixed } from './fixed.ts';
import { markdownBlocks } from './markdown-blocks.ts';
import { contentHash, normalise } from './normalise.ts';
import { type PackedSpan, pack } from './packing.ts';
import { cutRecursively } from './recursive.ts';
import { createRuler, type Ruler } from './ruler.ts';

export function createChunker(
  settings: ChunkerSettings,
  { countTokens }: { countTokens: CountTokens },
): Chunker {
  return {
    settings,
    *chunks(text) {
      const minTokens = 'minTokens' in settings ? settings.minTokens : undefined;
      const ruler = createRuler(text, { maxTokens: settings.maxTokens, minTokens, countTokens });
      for (const span of cut(settings, ruler)) yield chunkOf(span, text, countTokens);
    },
  };
}

function cut(settings: ChunkerSettings, ruler: Ruler): Iterable<PackedSpan> {
  if (settings.strategy === 'fixed') return cutFixed(ruler, settings.overlapTokens);
  // Only what is too long for a chunk is divided: a list into items, a table into rows, a paragraph into sentences.
  return settings.strategy === 'recursive' ? cutRecursively(ruler) : pack(markdownBlocks(ruler.text), ruler);
}

function chunkOf({ start, end, headingPath }: PackedSpan, source: string, countTokens: CountTokens): Chunk {
  const text = normalise(source.slice(start, end));
  return {
    text,
    contentHash: contentHash(text),
    headingPath: [...headingPath],
    start,
    end,
    tokens: countTokens(text),
  };
}
