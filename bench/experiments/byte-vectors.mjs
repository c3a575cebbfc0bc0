// Vectors with 8 bits for each number and one scale for each vector, compared in whole numbers.
import { TopHits } from '../../dist/modules/ingest/knowledge/index/vector/top-hits.js';

export function openBytes(all, dimensions) {
  const size = all.length / dimensions;
  const vectors = new Int8Array(all.length);
  const scales = new Float32Array(size);
  for (let at = 0; at < size; at += 1) scales[at] = pack(all, vectors, at * dimensions, dimensions);
  return {
    bytes: vectors.byteLength + scales.byteLength,
    nearest: (query, limit) => {
      const asked = new Int8Array(dimensions);
      pack(query, asked, 0, dimensions);
      const best = new TopHits(limit);
      for (let at = 0; at < size; at += 1) {
        const score = product(vectors, at * dimensions, asked) * scales[at];
        if (score >= best.threshold) best.offer(at, score);
      }
      return best.sorted().map(({ chunkId }) => chunkId);
    },
  };
}

/** Returns what one step is worth. */
function pack(from, to, start, dimensions) {
  let most = 0;
  for (let at = start; at < start + dimensions; at += 1) most = Math.max(most, Math.abs(from[at]));
  const step = most / 127 || 1;
  for (let at = start; at < start + dimensions; at += 1) to[at] = Math.round(from[at] / step);
  return step;
}

function product(vectors, from, query) {
  const dimensions = query.length;
  const whole = dimensions - (dimensions % 4);
  let [a, b, c, d] = [0, 0, 0, 0];
  for (let i = 0, at = from; i < whole; i += 4, at += 4) {
    a = (a + Math.imul(vectors[at], query[i])) | 0;
    b = (b + Math.imul(vectors[at + 1], query[i + 1])) | 0;
    c = (c + Math.imul(vectors[at + 2], query[i + 2])) | 0;
    d = (d + Math.imul(vectors[at + 3], query[i + 3])) | 0;
  }
  for (let i = whole; i < dimensions; i += 1) a = (a + Math.imul(vectors[from + i], query[i])) | 0;
  return a + b + c + d;
}
