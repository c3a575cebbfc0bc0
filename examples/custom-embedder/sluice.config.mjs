import { defineEmbedder } from 'sluice';

const dimensions = 256;

/**
 * Vectors of letter trigrams: no model at all, but any language, any spelling, and nothing to download. Yours would
 * ask a model server here.
 */
const trigrams = defineEmbedder({
  name: 'trigrams',
  // Part of the fingerprint: with another name everything is embedded anew.
  model: 'trigrams-1',
  dimensions,
  limits: { textsPerCall: 256 },
  embed: (texts) => texts.map(vectorOf),
});

function vectorOf(text) {
  const vector = new Array(dimensions).fill(0);
  const letters = ` ${text.toLowerCase().normalize('NFC').replace(/\s+/g, ' ')} `;
  for (let at = 0; at + 3 <= letters.length; at += 1) vector[hashOf(letters.slice(at, at + 3))] += 1;
  return vector;
}

function hashOf(trigram) {
  let hash = 7;
  for (const letter of trigram) hash = (hash * 31 + letter.codePointAt(0)) % 65_521;
  return hash % dimensions;
}

export default { embedders: [trigrams] };
