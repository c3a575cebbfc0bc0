// The graph of all-MiniLM-L6-v2: a BERT of six layers, the mean over the tokens, length 1.
import { elementTypes, GraphBuilder } from './onnx.mjs';
import { quantisePairs } from './quantise.mjs';

const layers = 6;
const heads = 12;
const size = 384;
const headSize = size / heads;
const maxTokens = 512;
const epsilon = 1e-12;

const bert = 'tf_bert_model/bert';
/** How many rows of a layer are added exactly: by the size of their inputs, or of their weights. */
const exactRows = { normed: 32, bent: 64, heavy: 64 };
const deviations = 4;

/**
 * Takes `ids` [texts, tokens] with the marks for start and end, and returns `vectors` [texts, 384] of length 1. No
 * padding: the texts of one call have the same number of tokens. `isExact` keeps the layers in 32 bits, to compare.
 */
export function buildMiniLm(weights, { isExact = false } = {}) {
  const graph = new GraphBuilder();
  const context = { graph, weights, linear: isExact ? exactLinear : quantisedLinear };
  let tokens = embedTokens(context);
  for (let number = 0; number < layers; number += 1) tokens = transformerLayer(context, number, tokens);
  const mean = graph.node('ReduceMean', [tokens], { axes: [1], keepdims: 0 });
  normalise(graph, mean);
  return graph.toModel({
    name: 'all-minilm-l6-v2',
    inputs: [{ name: 'ids', type: elementTypes.int32, shape: ['texts', 'tokens'] }],
    outputs: [{ name: 'vectors', type: elementTypes.float, shape: ['texts', size] }],
  });
}

/** The table of pieces stays in the eight bits in which it is published. */
function embedTokens({ graph, weights }) {
  const table = weights.get('unknown');
  const rows = graph.node('Gather', [graph.uint8s('pieces', table.shape, table.quantised), 'ids']);
  const scaled = graph.node('Mul', [
    graph.node('Cast', [rows], { to: elementTypes.float }),
    graph.floats('piece-scale', [1], [table.scale]),
  ]);
  const lengths = graph.node('Shape', ['ids']);
  const [zero, one, two] = [0, 1, 2].map((number) => graph.integers(`number-${number}`, [number]));
  const count = graph.node('Slice', [lengths, one, two, zero]);
  const places = graph.floats('places', [maxTokens, size], placeTable(weights, table.min));
  const placed = graph.node('Slice', [places, zero, count, zero]);
  const sum = graph.node('Add', [scaled, placed]);
  return layerNorm(
    { graph, weights },
    { name: 'first-norm', from: `${bert}/embeddings/LayerNorm`, input: sum },
  );
}

/** Positions, the type of the only sentence, and the constant of the table of pieces. */
function placeTable(weights, min) {
  const { values: places } = weights.get('unknown_0');
  const { values: types } = weights.get('unknown_1');
  return places.map((value, at) => value + types[at % size] + min);
}

function transformerLayer(context, number, input) {
  const { graph, weights } = context;
  const from = `${bert}/encoder/layer_._${number}`;
  const before = number === 0 ? `${bert}/embeddings` : `${bert}/encoder/layer_._${number - 1}/output`;
  const part = (name) => `layer-${number}-${name}`;
  const attended = attention(context, { from: `${from}/attention`, norm: before, part, input });
  const calmed = `${from}/attention/output`;
  const calm = layerNorm(context, {
    name: part('norm'),
    from: `${calmed}/LayerNorm`,
    input: graph.node('Add', [attended, input]),
  });
  const wide = dense(context, {
    name: part('wide'),
    from: `${from}/intermediate/dense`,
    exactRows: () => largestInputs(normedInputs(weights, calmed), exactRows.normed),
    input: calm,
  });
  const narrow = dense(context, {
    name: part('narrow'),
    from: `${from}/output/dense`,
    exactRows: (kernel) => [
      ...new Set([
        ...largestInputs(largestOfRows(kernel), exactRows.heavy),
        ...largestInputs(bentInputs(weights, { from, norm: calmed }), exactRows.bent),
      ]),
    ],
    input: graph.node('Gelu', [wide], {}, 'com.microsoft'),
  });
  return layerNorm(context, {
    name: part('last-norm'),
    from: `${from}/output/LayerNorm`,
    input: graph.node('Add', [narrow, calm]),
  });
}

function largestInputs(sizes, count) {
  const places = sizes.map((_, place) => place).sort((a, b) => sizes[b] - sizes[a] || a - b);
  return places.slice(0, count).sort((a, b) => a - b);
}

/** About the largest numbers that come out of a normalisation: its bias, and four of its deviations. */
function normedInputs(weights, from) {
  const { values: scales } = weights.get(`${from}/LayerNorm/batchnorm/mul/ReadVariableOp`);
  const { values: biases } = weights.get(`${from}/LayerNorm/batchnorm/ReadVariableOp`);
  return Array.from(scales, (scale, at) => Math.abs(biases[at]) + deviations * Math.abs(scale));
}

/** The same for what comes out of the wide layer. */
function bentInputs(weights, { from, norm }) {
  const { values: scales } = weights.get(`${norm}/LayerNorm/batchnorm/mul/ReadVariableOp`);
  const { values: biases } = weights.get(`${norm}/LayerNorm/batchnorm/ReadVariableOp`);
  const kernel = weights.get(`${from}/intermediate/dense/Tensordot/ReadVariableOp`);
  const { values: means } = weights.get(`${from}/intermediate/dense/BiasAdd/ReadVariableOp`);
  const [rows, columns] = kernel.shape;
  return Array.from({ length: columns }, (_, column) => {
    let [mean, squares] = [means[column], 0];
    for (let row = 0; row < rows; row += 1) {
      const weight = kernel.values[row * columns + column];
      mean += weight * biases[row];
      squares += (weight * scales[row]) ** 2;
    }
    return mean + deviations * Math.sqrt(squares);
  });
}

function largestOfRows({ shape: [rows, columns], values }) {
  return Array.from({ length: rows }, (_, row) => {
    let largest = 0;
    for (let at = row * columns; at < (row + 1) * columns; at += 1)
      largest = Math.max(largest, Math.abs(values[at]));
    return largest;
  });
}

/** Queries, keys and values come from one multiplication. */
function attention(context, { from, norm, part, input }) {
  const { graph, weights } = context;
  const sides = ['query', 'key', 'value'].map((side) => ({
    kernel: weights.get(`${from}/self/${side}/Tensordot/ReadVariableOp`),
    bias: weights.get(`${from}/self/${side}/BiasAdd/ReadVariableOp`),
  }));
  const all = context.linear(graph, {
    name: part('sides'),
    kernel: besideEachOther(sides.map(({ kernel }) => kernel)),
    bias: sides.flatMap(({ bias }) => [...bias.values]),
    exactRows: largestInputs(normedInputs(weights, norm), exactRows.normed),
    input,
  });
  const split = graph.integers(part('split'), [size, size, size]);
  const [queries, keys, values] = graph.nodeOfMany('Split', [all, split], {
    attributes: { axis: -1 },
    outputs: 3,
  });
  const shape = graph.integers(part('heads'), [0, 0, heads, headSize]);
  const perHead = (value, perm) => graph.node('Transpose', [graph.node('Reshape', [value, shape])], { perm });
  const scale = graph.floats(part('scale'), [1], [1 / Math.sqrt(headSize)]);
  const scaled = graph.node('Mul', [perHead(queries, [0, 2, 1, 3]), scale]);
  const scores = graph.node('MatMul', [scaled, perHead(keys, [0, 2, 3, 1])]);
  const shares = graph.node('Softmax', [scores], { axis: -1 });
  const mixed = graph.node('MatMul', [shares, perHead(values, [0, 2, 1, 3])]);
  const joined = graph.node('Reshape', [
    graph.node('Transpose', [mixed], { perm: [0, 2, 1, 3] }),
    graph.integers(part('joined'), [0, 0, size]),
  ]);
  return dense(context, { name: part('attended'), from: `${from}/output/dense`, input: joined });
}

function besideEachOther(kernels) {
  const [rows, columns] = kernels[0].shape;
  const values = new Float32Array(rows * columns * kernels.length);
  for (const [index, kernel] of kernels.entries()) {
    for (let row = 0; row < rows; row += 1) {
      const from = kernel.values.subarray(row * columns, (row + 1) * columns);
      values.set(from, (row * kernels.length + index) * columns);
    }
  }
  return { shape: [rows, columns * kernels.length], values };
}

function layerNorm({ graph, weights }, { name, from, input }) {
  const scale = weights.get(`${from}/batchnorm/mul/ReadVariableOp`);
  const bias = weights.get(`${from}/batchnorm/ReadVariableOp`);
  return graph.node(
    'LayerNormalization',
    [
      input,
      graph.floats(`${name}-scale`, scale.shape, scale.values),
      graph.floats(`${name}-bias`, bias.shape, bias.values),
    ],
    { axis: -1, epsilon: { float: epsilon } },
  );
}

function dense({ graph, weights, linear }, { name, from, input, exactRows: rows = () => [] }) {
  const kernel = weights.get(`${from}/Tensordot/ReadVariableOp`);
  const { values: bias } = weights.get(`${from}/BiasAdd/ReadVariableOp`);
  return linear(graph, { name, kernel, bias, exactRows: rows(kernel), input });
}

/**
 * All inputs of a text share one step of rounding, so a few inputs that are much larger than the others make it coarse
 * for all. Those rows are left out of the rounded product and added exactly.
 */
function quantisedLinear(graph, { name, kernel, bias, exactRows: picked, input }) {
  if (picked.length === 0) return roundedLinear(graph, { name, kernel, bias, input });
  const [rows, columns] = kernel.shape;
  const rest = Float32Array.from(kernel.values);
  const exact = new Float32Array(picked.length * columns);
  const mask = new Float32Array(rows).fill(1);
  for (const [place, row] of picked.entries()) {
    exact.set(rest.subarray(row * columns, (row + 1) * columns), place * columns);
    rest.fill(0, row * columns, (row + 1) * columns);
    mask[row] = 0;
  }
  const taken = graph.node('Gather', [input, graph.integers(`${name}-exact-rows`, picked)], { axis: -1 });
  const added = graph.node('MatMul', [taken, graph.floats(`${name}-exact`, [picked.length, columns], exact)]);
  const masked = graph.node('Mul', [input, graph.floats(`${name}-mask`, [rows], mask)]);
  const rounded = roundedLinear(graph, {
    name,
    kernel: { shape: kernel.shape, values: rest },
    bias,
    input: masked,
  });
  return graph.node('Add', [rounded, added]);
}

function roundedLinear(graph, { name, kernel, bias, input }) {
  const { quantised, scales } = quantisePairs(kernel);
  const noZeroPoint = '';
  const inputs = [
    input,
    graph.int8s(`${name}-kernel`, kernel.shape, quantised),
    graph.floats(`${name}-scales`, [scales.length], scales),
    noZeroPoint,
    graph.floats(`${name}-bias`, [scales.length], bias),
  ];
  return graph.node('DynamicQuantizeMatMul', inputs, {}, 'com.microsoft');
}

function exactLinear(graph, { name, kernel, bias, input }) {
  const product = graph.node('MatMul', [input, graph.floats(`${name}-kernel`, kernel.shape, kernel.values)]);
  return graph.node('Add', [product, graph.floats(`${name}-bias`, [bias.length], bias)]);
}

function normalise(graph, input) {
  const last = graph.integers('last', [-1]);
  const squares = graph.node('ReduceSum', [graph.node('Mul', [input, input]), last], { keepdims: 1 });
  graph.result('Div', [input, graph.node('Sqrt', [squares])], 'vectors');
}
