// Builds an ONNX model node by node. Field numbers are those of onnx.proto3; only what the encoder needs is here.
import { bytesField, floatField, integerField, messageField, textField } from './protobuf.mjs';

export const elementTypes = { float: 1, uint8: 2, int8: 3, int32: 6, int64: 7 };
const attributeTypes = { float: 1, integer: 2, integers: 7 };
const irVersion = 8;
const operatorSets = [
  { domain: '', version: 17 },
  { domain: 'com.microsoft', version: 1 },
];

/** Values are named; `node` returns the names of its outputs, which further nodes take as inputs. */
export class GraphBuilder {
  #nodes = [];
  #tensors = [];
  #tensorNames = new Set();
  #made = 0;

  floats(name, shape, values) {
    return this.#tensor({ name, shape, type: elementTypes.float, values: Float32Array.from(values) });
  }

  int8s(name, shape, values) {
    return this.#tensor({ name, shape, type: elementTypes.int8, values: Int8Array.from(values) });
  }

  uint8s(name, shape, values) {
    return this.#tensor({ name, shape, type: elementTypes.uint8, values: Uint8Array.from(values) });
  }

  /** A list of whole numbers, such as a shape or axes. */
  integers(name, values) {
    const asBigInts = BigInt64Array.from(values.map(BigInt));
    return this.#tensor({ name, shape: [values.length], type: elementTypes.int64, values: asBigInts });
  }

  node(operator, inputs, attributes = {}, domain = '') {
    return this.nodeOfMany(operator, inputs, { attributes, domain, outputs: 1 })[0];
  }

  nodeOfMany(operator, inputs, { attributes = {}, domain = '', outputs }) {
    const made = Array.from({ length: outputs }, () => `v${this.#made++}`);
    this.#push({ operator, inputs, outputs: made, attributes, domain });
    return made;
  }

  /** The last node, whose output has the name of the model's output. */
  result(operator, inputs, output) {
    this.#push({ operator, inputs, outputs: [output], attributes: {}, domain: '' });
  }

  /** The finished file. `inputs` and `outputs`: name, element type, and dimensions (a text where it varies). */
  toModel({ name, inputs, outputs }) {
    const graph = [
      ...this.#nodes,
      textField(2, name),
      ...this.#tensors,
      ...inputs.map((input) => messageField(11, valueFields(input))),
      ...outputs.map((output) => messageField(12, valueFields(output))),
    ];
    return Buffer.concat([
      integerField(1, irVersion),
      ...operatorSets.map(({ domain, version }) =>
        messageField(8, [textField(1, domain), integerField(2, version)]),
      ),
      messageField(7, graph),
    ]);
  }

  #tensor({ name, shape, type, values }) {
    const size = shape.reduce((product, length) => product * length, 1);
    if (size !== values.length) throw new Error(`${name} has ${values.length} values for a shape of ${size}`);
    if (this.#tensorNames.has(name)) throw new Error(`There are two tensors ${name}`);
    this.#tensorNames.add(name);
    const raw = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
    const fields = [...shape.map((length) => integerField(1, length)), integerField(2, type)];
    this.#tensors.push(messageField(5, [...fields, textField(8, name), bytesField(9, raw)]));
    return name;
  }

  #push({ operator, inputs, outputs, attributes, domain }) {
    const fields = [
      ...inputs.map((input) => textField(1, input)),
      ...outputs.map((output) => textField(2, output)),
      textField(3, `${operator}-${this.#nodes.length}`),
      textField(4, operator),
      ...Object.entries(attributes).map(([name, value]) => messageField(5, attributeFields(name, value))),
    ];
    if (domain !== '') fields.push(textField(7, domain));
    this.#nodes.push(messageField(1, fields));
  }
}

/** An attribute is a whole number, a list of them, or `{ float }`. */
function attributeFields(name, value) {
  const called = textField(1, name);
  if (Array.isArray(value)) {
    return [called, ...value.map((each) => integerField(8, each)), integerField(20, attributeTypes.integers)];
  }
  if (typeof value === 'number')
    return [called, integerField(3, value), integerField(20, attributeTypes.integer)];
  return [called, floatField(2, value.float), integerField(20, attributeTypes.float)];
}

function valueFields({ name, type, shape }) {
  const dimensions = shape.map((length) =>
    messageField(1, [typeof length === 'string' ? textField(2, length) : integerField(1, length)]),
  );
  const tensorType = messageField(1, [integerField(1, type), messageField(2, dimensions)]);
  return [textField(1, name), messageField(2, [tensorType])];
}
