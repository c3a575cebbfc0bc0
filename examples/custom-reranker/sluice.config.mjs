import { defineReranker } from 'sluice';

/**
 * Questions for an amount want a passage with a number: no model at all, to show what a reranker gets and returns.
 * Yours would ask a cross-encoder here.
 */
const amounts = defineReranker({
  name: 'amounts',
  rerank: (query, texts) => {
    const asksForAmount = /\bhow (?:many|much|long|often)\b/i.test(query);
    // The order of the search counts among equals.
    return texts.map((text) =>
      asksForAmount && /\d|\b(?:one|two|three|four|five|ten)\b/i.test(text) ? 1 : 0,
    );
  },
});

export default { rerankers: [amounts] };
