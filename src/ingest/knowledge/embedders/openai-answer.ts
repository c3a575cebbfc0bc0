import { asObject } from '../../../lib/json.ts';
import { parseJsonInTurns } from '../../../lib/json-in-turns.ts';
import { toUnitLength } from './embedder.ts';
import { embedderErrors } from './errors.ts';

/** The vectors of a response in the order of the texts. `dimensions` is null if not known yet. */
export async function readVectors(
  body: Buffer,
  { host, texts, dimensions }: { host: string; texts: number; dimensions: number | null },
): Promise<Float32Array[]> {
  const parsed = await parseJsonInTurns(body);
  const entries = asObject('value' in parsed ? parsed.value : null).data;
  if (!Array.isArray(entries)) throw unreadable(host, 'it is not JSON with a list `data`');
  if (entries.length !== texts) throw unreadable(host, `it has ${entries.length} vectors for ${texts} texts`);
  const vectors: (Float32Array | undefined)[] = Array.from({ length: texts });
  for (const [place, entry] of entries.entries()) {
    const { index = place, embedding } = asObject(entry);
    if (typeof index !== 'number' || !(index in vectors) || vectors[index] !== undefined) {
      throw unreadable(host, `its vector ${place} has the index ${JSON.stringify(index)}`);
    }
    vectors[index] = readVector(embedding, { host, place, dimensions });
  }
  return vectors.filter((vector) => vector !== undefined);
}

function readVector(
  embedding: unknown,
  { host, place, dimensions }: { host: string; place: number; dimensions: number | null },
): Float32Array {
  const values = typeof embedding === 'string' ? decodeFloats(embedding) : embedding;
  if (!(values instanceof Float32Array) && !Array.isArray(values)) {
    throw unreadable(host, `its vector ${place} is neither a list of numbers nor base64 of one`);
  }
  if (values.length !== (dimensions ?? values.length)) {
    throw embedderErrors.raise.embedder_misconfigured(
      `${host} returned vectors of ${values.length} dimensions, and ${dimensions} were expected. ` +
        `Set dimensions to ${values.length}, or choose a model that can make ${dimensions}`,
    );
  }
  const isNumeric = values instanceof Float32Array || values.every((value) => typeof value === 'number');
  const vector = isNumeric ? toUnitLength(values) : null;
  if (vector !== null) return vector;
  throw embedderErrors.raise.embedder_vector_unusable(
    `${host} returned a vector for text ${place + 1} without a direction: NaN, or only zeros`,
  );
}

/** Little-endian, as in the API; null if the bytes are not whole floats. */
function decodeFloats(text: string): Float32Array | null {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length === 0 || bytes.length % 4 !== 0) return null;
  return Float32Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4));
}

function unreadable(host: string, reason: string): Error {
  return embedderErrors.raise.embedder_answer_unreadable(`The response of ${host} cannot be used: ${reason}`);
}
