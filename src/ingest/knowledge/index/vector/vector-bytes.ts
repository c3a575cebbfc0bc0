import { endianness } from 'node:os';

const isBigEndian = endianness() === 'BE';

/** A vector as the database stores it: float32, little-endian. */
export function vectorBytes(vector: Float32Array): Buffer {
  const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
  return isBigEndian ? Buffer.from(bytes).swap32() : bytes;
}

/** Copies, because the bytes of the driver may not be aligned for floats. */
export function readVector(bytes: Buffer): Float32Array {
  const vector = new Float32Array(bytes.length / Float32Array.BYTES_PER_ELEMENT);
  copyVector(bytes, vector, 0);
  return vector;
}

export function copyVector(bytes: Buffer, target: Float32Array, at: number): void {
  const offset = target.byteOffset + at * Float32Array.BYTES_PER_ELEMENT;
  const place = Buffer.from(target.buffer, offset, bytes.length);
  bytes.copy(place);
  if (isBigEndian) place.swap32();
}
