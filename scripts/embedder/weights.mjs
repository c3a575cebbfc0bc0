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
    for (const { name, shape, dtype } of weights) {
      const size = shape.reduce((product, length) => product * length, 1);
      if (dtype === 'float32')
        tensors.push({ name, shape: plainShape(shape), values: floats(bytes, offset, size) });
      offset += size * 4;
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
