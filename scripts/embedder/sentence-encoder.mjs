// The graph of the Universal Sentence Encoder lite: two transformer layers, the mean over the tokens, one more layer.
import { elementTypes, GraphBuilder } from './onnx.mjs';
import { quantiseColumns } from './quantise.mjs';

const heads = 4;
const vocabularySize = 8002;
const wordSize = 256;
const vectorSize = 512;
/** Further tokens are ignored. */
const maxTokens = 128;

const encoder = 'Encoder_en/KonaTransformer/Encode';

/**
 * Takes `ids` [texts, tokens] and returns `vectors` [texts, 512] of length 1. No padding: the texts of one call have
 * the same number of tokens.
 */
export function buildSentenceEncoder(weights) {
  const graph = new GraphBuilder();
  const shared = shareConstants(graph);
  const words = addPositions(graph, { weights, shared });
  const first = transformerLayer(graph, { weights, number: 0, size: wordSize, input: words });
  const second = transformerLayer(graph, { weights, number: 1, size: vectorSize, input: first });
  const mean = graph.node('ReduceMean', [second], { axes: [1], keepdims: 0 });
  normalise(graph, { shared, input: lastLayer(graph, weights, mean) });
  return graph.toModel({
    name: 'use-lite-en',
    inputs: [{ name: 'ids', type: elementTypes.int32, shape: ['texts', 'tokens'] }],
    outputs: [{ name: 'vectors', type: elementTypes.float, shape: ['texts', vectorSize] }],
  });
}

function shareConstants(graph) {
  return {
    zero: graph.integers('zero', [0]),
    one: graph.integers('one', [1]),
    two: graph.integers('two', [2]),
    last: graph.integers('last', [-1]),
  };
}

/** The word embedding is added twice: the original adds the words to the words with their positions. */
function addPositions(graph, { weights, shared }) {
  const table = weights.get('Embeddings_en');
  const words = graph.node('Gather', [
    graph.floats('words', [vocabularySize, wordSize], table.values),
    'ids',
  ]);
  const lengths = graph.node('Shape', ['ids']);
  const tokens = graph.node('Slice', [lengths, shared.one, shared.two, shared.zero]);
  const places = graph.floats('places', [maxTokens, wordSize], placeTable(weights));
  const placed = graph.node('Slice', [places, shared.zero, tokens, shared.zero]);
  return graph.node('Add', [graph.node('Add', [words, words]), placed]);
}

/** Sines, then cosines, of the position times decreasing frequencies. */
function placeTable(weights) {
  const { values: frequencies } = weights.get('AddTimingSignal/TimingSignal/ExpandDims_1');
  const table = new Float32Array(maxTokens * wordSize);
  for (let place = 0; place < maxTokens; place += 1) {
    for (const [index, frequency] of frequencies.entries()) {
      table[place * wordSize + index] = Math.sin(place * frequency);
      table[place * wordSize + frequencies.length + index] = Math.cos(place * frequency);
    }
  }
  return table;
}

function transformerLayer(graph, { weights, number, size, input }) {
  const own = `${encoder}/Layer_${number}/TransformerLayer`;
  const stacked = `${encoder}/TransformerStack/Layer_${number}/TransformerLayer`;
  const part = (name) => `layer-${number}-${name}`;
  const calm = layerNorm(graph, { weights, name: part('norm'), from: own, input });
  const attended = attention(graph, { weights, own, part, size, input: calm });
  const carried =
    number === 0 ? dense(graph, weights, { name: part('carry'), from: `${own}/dense`, input }) : input;
  const sum = graph.node('Add', [attended, carried]);
  const inner = layerNorm(graph, { weights, name: part('inner-norm'), from: `${own}/FFN`, input: sum });
  const wide = linear(graph, {
    name: part('wide'),
    kernel: weights.get(`${stacked}/FFN/conv1/Tensordot/Reshape_1`),
    bias: weights.get(`${own}/FFN/conv1/bias`),
    input: inner,
  });
  const narrow = linear(graph, {
    name: part('narrow'),
    kernel: weights.get(`${stacked}/FFN/conv2/Tensordot/Reshape_1`),
    bias: weights.get(`${own}/FFN/conv2/bias`),
    input: graph.node('Relu', [wide]),
  });
  return graph.node('Add', [narrow, sum]);
}

function attention(graph, { weights, own, part, size, input }) {
  const from = `${own}/MultiheadAttention`;
  const all = dense(graph, weights, { name: part('qkv'), from: `${from}/qkv_transform_single`, input });
  const [queries, keys, values] = graph.nodeOfMany(
    'Split',
    [all, graph.integers(part('split'), [size, size, size])],
    { attributes: { axis: -1 }, outputs: 3 },
  );
  const headSize = size / heads;
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
  return dense(graph, weights, {
    name: part('attended'),
    from: `${from}/output_transform_single`,
    input: joined,
  });
}

function layerNorm(graph, { weights, name, from, input }) {
  const scale = weights.get(`${from}/layer_prepostprocess/layer_norm/layer_norm_scale`);
  const bias = weights.get(`${from}/layer_prepostprocess/layer_norm/layer_norm_bias`);
  const epsilon = weights.get('layer_norm/Cast/x').values[0];
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

function dense(graph, weights, { name, from, input }) {
  return linear(graph, {
    name,
    kernel: weights.get(`${from}/kernel`),
    bias: weights.get(`${from}/bias`),
    input,
  });
}

function linear(graph, { name, kernel, bias, input }) {
  const { quantised, scales } = quantiseColumns(kernel);
  const noZeroPoint = '';
  return graph.node(
    'DynamicQuantizeMatMul',
    [
      input,
      graph.int8s(`${name}-kernel`, kernel.shape, quantised),
      graph.floats(`${name}-scales`, [scales.length], scales),
      noZeroPoint,
      graph.floats(`${name}-bias`, bias.shape, bias.values),
    ],
    {},
    'com.microsoft',
  );
}

function lastLayer(graph, weights, input) {
  const from = 'Encoder_en/hidden_layers/tanh_layer_0';
  const kernel = weights.get(`${from}/weights`);
  const bias = weights.get(`${from}/bias`);
  return graph.node('Tanh', [linear(graph, { name: 'last', kernel, bias, input })]);
}

function normalise(graph, { shared, input }) {
  const squares = graph.node('ReduceSum', [graph.node('Mul', [input, input]), shared.last], { keepdims: 1 });
  graph.result('Div', [input, graph.node('Sqrt', [squares])], 'vectors');
}
