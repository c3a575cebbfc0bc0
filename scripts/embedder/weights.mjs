import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The weights of a TensorFlow.js model: one manifest, and the numbers one after the other in several files. */
export async function readWeights(directory) {
  const model = JSON.parse(await readFile(join(directory, 'model.json'), 'utf8'));
  const tensors = [];
  for (const { paths, weights } of model.weightsManifest) {
    const shards = await Promise.all(paths.map((path) => readFile(join(directory, path))));
    const bytes = Buffer.concat(shards);
    let offset = 0;
    for (const { name, shape, dtype, quantization } of weights) {
      const size = shape.reduce((product, length) => product * length, 1);
      const tensor = { name, shape: plainShape(shape) };
      if (quantization) {
        const quantised = bytes.subarray(offset, offset + size);
        tensors.push({ ...tensor, ...eightBits(quantised, quantization) });
      } else if (dtype === 'float32') {
        tensors.push({ ...tensor, values: floats(bytes, offset, size) });
      }
      offset += quantization ? size : size * 4;
    }
    if (offset !== bytes.length) {
      throw new Error(`The manifest speaks of ${offset} bytes of weights, and there are ${bytes.length}`);
    }
  }
  return new Weights(tensors);
}

class Weights {
  #tensors;

  constructor(tensors) {
    this.#tensors = tensors;
  }

  /** The one tensor whose name ends like this, optionally followed by a part number or a TensorFlow suffix. */
  get(ending) {
    const suffixes = ['', '/part_0', '/ConcatPartitions/concat'];
    const found = this.#tensors.filter(({ name }) =>
      suffixes.some((suffix) => name.endsWith(ending + suffix)),
    );
    if (found.length !== 1) throw new Error(`${found.length} tensors are named …${ending}; one is needed`);
    return found[0];
  }
}

/** Kernels of width 1 are matrices. */
function plainShape(shape) {
  return shape.length === 4 ? shape.slice(2) : shape;
}

function floats(bytes, offset, size) {
  return Float32Array.from({ length: size }, (_, index) => bytes.readFloatLE(offset + index * 4));
}

/** A number of these is `quantised * scale + min`; both forms are kept, because a table may stay in eight bits. */
function eightBits(quantised, { dtype, scale, min }) {
  if (dtype !== 'uint8') throw new Error(`Weights of the type ${dtype} are not expected`);
  const values = Float32Array.from(quantised, (value) => Math.fround(value * scale) + min);
  return { values, quantised, scale, min };
}
