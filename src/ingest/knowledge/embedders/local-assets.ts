import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { messageOf } from '../../../lib/errors.ts';
import { packageDir } from '../../../lib/package-dir.ts';
import type { CountTokens } from '../chunkers/chunker.ts';
import { embedderErrors } from './errors.ts';
import { SentencePieces } from './sentence-pieces.ts';

const assetsDir = path.join(packageDir, 'assets/embedder');

/** As scripts/build-embedder.mjs prints them. Vectors of other models cannot be compared with the stored ones. */
export const localAssets = {
  model: {
    file: 'use-lite-en-q7.onnx',
    sha256: '75c5e50a0968cd380b1c4e0b2ac13b09e8c34934d640305c672831d7551ee8f8',
  },
  vocabulary: {
    file: 'use-lite-en-vocabulary.tsv',
    sha256: '4ed3d085a5ee639abf6952baa9856872611e0673da3f4e751d59686746a72afb',
  },
} as const;

/** Throws if the file is missing or differs from the released one. */
export async function readAsset(name: keyof typeof localAssets, directory = assetsDir): Promise<Buffer> {
  const { file, sha256 } = localAssets[name];
  const place = path.join(directory, file);
  let bytes: Buffer;
  try {
    bytes = await readFile(place);
  } catch (error) {
    throw embedderErrors.raise.embedder_unavailable(`${place} cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
  const found = createHash('sha256').update(bytes).digest('hex');
  if (found === sha256) return bytes;
  throw embedderErrors.raise.embedder_unavailable(
    `${place} has the checksum ${found} instead of ${sha256}: the file was changed, or truncated while it was copied`,
  );
}

export async function loadSentencePieces(): Promise<SentencePieces> {
  return new SentencePieces((await readAsset('vocabulary')).toString('utf8'));
}

/**
 * The token counter of all chunkers and estimates, for any embedder. It counts pieces of the local model, whose
 * vocabulary is small: a text has fewer tokens at any other provider.
 */
export async function loadTokenCounter(): Promise<CountTokens> {
  const pieces = await loadSentencePieces();
  return (text) => pieces.count(text);
}
