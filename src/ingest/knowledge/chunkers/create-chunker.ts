import { z } from 'zod';
import type { Chunk, Chunker, ChunkerSettings, CountTokens } from './chunker.ts';
import { cutFixed } from './fixed.ts';
import { markdownBlocks } from './markdown-blocks.ts';
import { contentHash, normalise } from './normalise.ts';
import { type PackedSpan, pack } from './packing.ts';
import { cutRecursively } from './recursive.ts';
import { createRuler, type Ruler } from './ruler.ts';

/** Smaller chunks are useless: in some languages a few tokens are hardly one letter. */
const chunkTokenLimits = { min: 16, max: 8_000 };

/** The built-in embedder reads 128 tokens, including a few of its own. */
const defaultMaxTokens = 110;
const defaultOverlapTokens = 16;

const maxTokens = z.int().min(chunkTokenLimits.min).max(chunkTokenLimits.max).default(defaultMaxTokens);

/** Settings as stored with a knowledge base; default: Markdown, in chunks for the built-in embedder. */
export const chunkerSettings = z
  .discriminatedUnion('strategy', [
    z.strictObject({ strategy: z.literal('markdown'), maxTokens }),
    z.strictObject({ strategy: z.literal('recursive'), maxTokens }),
    z
      .strictObject({
        strategy: z.literal('fixed'),
        maxTokens,
        overlapTokens: z.int().min(0).optional(),
      })
      .transform((settings) => ({
        ...settings,
        overlapTokens:
          settings.overlapTokens ?? Math.min(defaultOverlapTokens, Math.floor(settings.maxTokens / 4)),
      }))
      .refine((settings) => settings.overlapTokens * 2 <= settings.maxTokens, {
        path: ['overlapTokens'],
        error: 'must be at most half of maxTokens',
      }),
  ])
  .default({ strategy: 'markdown', maxTokens: defaultMaxTokens });

export function createChunker(
  settings: ChunkerSettings,
  { countTokens }: { countTokens: CountTokens },
): Chunker {
  return {
    settings,
    *chunks(text) {
      const ruler = createRuler(text, { maxTokens: settings.maxTokens, countTokens });
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
