import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { storable } from '../../../lib/well-formed.ts';
import { loadTokenCounter } from '../embedders/local-assets.ts';
import type { Chunk, ChunkerSettings } from './chunker.ts';
import { createChunker } from './create-chunker.ts';

// What runs in the thread that long texts are cut in; `cut-text.ts` starts it.
if (parentPort !== null) await serve(parentPort, workerData as CuttingStart);

/** Whoever asks unpacks an answer in one go: it must not be long. */
const mostChunks = 64;
const mostUnits = 256 * 1024;

async function serve(port: MessagePort, { settings }: CuttingStart): Promise<void> {
  // What arrives before the first listener is kept.
  const chunker = createChunker(settings, { countTokens: await loadTokenCounter() });
  let pieces: string[] = [];
  let chunks: Iterator<Chunk> | null = null;
  port.on('message', (request: CuttingRequest) => {
    if (request.type === 'text') {
      pieces.push(request.text);
      return;
    }
    if (chunks === null) {
      chunks = chunker.chunks(storable(pieces.join('')))[Symbol.iterator]();
      pieces = [];
    }
    port.postMessage(batchOf(chunks));
  });
}

function batchOf(chunks: Iterator<Chunk>): CuttingAnswer {
  const batch: Chunk[] = [];
  let units = 0;
  while (batch.length < mostChunks && units < mostUnits) {
    const next = chunks.next();
    if (next.done) return { chunks: batch, isLast: true };
    batch.push(next.value);
    units += next.value.text.length;
  }
  return { chunks: batch, isLast: false };
}

/** What the thread gets when it is started. */
export interface CuttingStart {
  settings: ChunkerSettings;
}

/** The text in pieces, then a question for each batch of chunks. */
export type CuttingRequest = { type: 'text'; text: string } | { type: 'next' };

export interface CuttingAnswer {
  chunks: Chunk[];
  isLast: boolean;
}
