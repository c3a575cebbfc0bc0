import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { giveWay } from '../../../lib/threads/give-way.ts';
import { storable } from '../../../lib/well-formed.ts';
import { loadTokenCounter } from '../embedders/local-assets.ts';
import type { Chunk, ChunkerSettings } from './chunker.ts';
import { createChunker } from './create-chunker.ts';

// Runs in the thread that cuts long texts; `cut-text.ts` starts it.
if (parentPort !== null) {
  giveWay();
  await serve(parentPort, workerData as CuttingStart);
}

/** The main thread unpacks a whole batch at once, so a batch must be small. */
const mostChunks = 64;
const mostUnits = 256 * 1024;

async function serve(port: MessagePort, { settings }: CuttingStart): Promise<void> {
  // Messages that arrive before the first listener are kept.
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

/** What the thread gets when it starts. */
export interface CuttingStart {
  settings: ChunkerSettings;
}

/** The text in pieces, then a request for each batch of chunks. */
export type CuttingRequest = { type: 'text'; text: string } | { type: 'next' };

export interface CuttingAnswer {
  chunks: Chunk[];
  isLast: boolean;
}
