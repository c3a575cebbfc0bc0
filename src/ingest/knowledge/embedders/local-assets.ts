import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { messageOf } from '../../../lib/errors.ts';
import { packageDir } from '../../../lib/package-dir.ts';
import type { CountTokens } from '../chunkers/chunker.ts';
import { embedderErrors } from './errors.ts';
import { type LocalModelSpec, localModels } from './local-models.ts';
import { SentencePieces } from './sentence-pieces.ts';
import { WordPieces } from './word-pieces.ts';

const assetsDir = path.join(packageDir, 'assets/embedder');

/** Throws if the file is missing or differs from the released one. */
export async function readAsset(
  { file, sha256 }: { file: string; sha256: string },
  directory = assetsDir,
): Promise<Buffer> {
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

/** Cuts texts into numbered pieces of a model. */
export interface Pieces {
  encode(text: string): number[];
  /** With the marks that the model expects around a window. */
  framed(pieces: readonly number[]): readonly number[];
}

export async function loadPieces({ pieces, files }: LocalModelSpec): Promise<Pieces> {
  const vocabulary = (await readAsset(files.vocabulary)).toString('utf8');
  return pieces === 'word-pieces' ? new WordPieces(vocabulary) : new SentencePieces(vocabulary);
}

/**
 * The token counter of all chunkers and estimates, for any embedder. It counts pieces of a small vocabulary: a text has
 * fewer tokens with nearly every other one.
 */
export async function loadTokenCounter(): Promise<CountTokens> {
  const { files } = localModels['use-lite-en-q7'];
  const pieces = new SentencePieces((await readAsset(files.vocabulary)).toString('utf8'));
  return (text) => pieces.count(text);
}
