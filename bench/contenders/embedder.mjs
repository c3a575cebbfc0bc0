// The local embedder of the product with nothing around it: the same texts, in calls of the best size.
import { readFile } from 'node:fs/promises';
import { LocalEmbedder } from '../../dist/modules/ingest/knowledge/embedders/local.js';
import { settings, untilGo } from './protocol.mjs';

const { textsFile, best } = settings;
const texts = JSON.parse(await readFile(textsFile, 'utf8'));
const embedder = new LocalEmbedder();
const { textsPerCall, callsInFlight } = best;
const { signal } = new AbortController();

// The model is loaded by the first call.
await embedder.embed(texts.slice(0, 1), { signal });
await untilGo();
const startedAtMs = performance.now();
let next = 0;
let embedded = 0;
await Promise.all(Array.from({ length: callsInFlight }, embedInTurn));
process.send({ is: 'handled', count: embedded, seconds: (performance.now() - startedAtMs) / 1000 });
await embedder.close();

async function embedInTurn() {
  while (next < texts.length) {
    const call = texts.slice(next, next + textsPerCall);
    next += call.length;
    const vectors = await embedder.embed(call, { signal });
    embedded += vectors.length;
  }
}
