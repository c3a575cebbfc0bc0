import { defineErrors } from '../../../lib/errors.ts';

/**
 * Errors of embedders. The kind says what a run does: `invalid` is caused by a text, so halves are tried until it is
 * found; `transient` and `rate_limited` are retried; everything else needs a person.
 */
export const embedderErrors = defineErrors({
  embedder_refused: {
    kind: 'invalid',
    status: 422,
    title: 'The embedder refused a text',
    next: 'Read the message; change or remove the text, or choose smaller chunks.',
  },
  embedder_text_too_long: {
    kind: 'invalid',
    status: 422,
    title: 'A text is longer than the embedder takes',
    next: 'Lower max_tokens of the chunker, and start the run again.',
  },
  embedder_vector_unusable: {
    kind: 'invalid',
    status: 422,
    title: 'The embedder made no usable vector for a text',
    next: 'Change or remove the text; if it happens with every text, check the embedder.',
  },
  embedder_rate_limited: {
    kind: 'rate_limited',
    status: 429,
    title: 'The embedder asked to slow down',
    next: 'Nothing to do: the run waits and continues. Raise the limit at the provider if it lasts.',
  },
  embedder_unreachable: {
    kind: 'transient',
    status: 503,
    title: 'The embedder could not be reached or did not respond in time',
    next: 'Nothing to do: the call is retried. Check base_url and the network if it lasts.',
  },
  embedder_failed: {
    kind: 'transient',
    status: 503,
    title: 'The embedder failed',
    next: 'Nothing to do: the call is retried. Check the provider’s status if it lasts.',
  },
  embedder_answer_unreadable: {
    kind: 'transient',
    status: 503,
    title: 'The embedder’s response could not be read',
    next: 'Check that base_url is the address of an OpenAI-compatible API and that no proxy responds instead.',
  },
  embedder_stopped: {
    kind: 'transient',
    status: 503,
    title: 'The local embedder stopped during a call',
    next: 'Nothing to do: it is started again. Give the machine more memory if it happens often.',
  },
  embedder_unauthorized: {
    kind: 'forbidden',
    status: 403,
    title: 'The embedder does not accept the key',
    next: 'Store a valid key under the name in api_key_secret with PUT /api/secrets/{name}, then resume the run.',
  },
  embedder_quota_exhausted: {
    kind: 'forbidden',
    status: 403,
    title: 'The account at the embedder’s provider has no credit left',
    next: 'Add credit or raise the budget at the provider, then resume the run.',
  },
  embedder_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'The embedder does not know the model or the address',
    next: 'Check model and base_url of the knowledge base (base_url without /embeddings).',
  },
  embedder_misconfigured: {
    kind: 'conflict',
    status: 422,
    title: 'The embedder cannot work with its settings',
    next: 'Correct the setting named in the message.',
  },
  embedder_unknown: {
    kind: 'conflict',
    status: 422,
    title: 'There is no custom embedder with this name',
    next: 'Use one of the names in the message, or register an embedder under this name in sluice.config.mjs.',
  },
  embedder_definition_invalid: {
    kind: 'conflict',
    status: 422,
    title: 'An embedder in the configuration is not usable',
    next: 'Correct `embedders` in sluice.config.mjs as the message says, and start again.',
  },
  embedder_misbehaved: {
    kind: 'bug',
    status: 500,
    title: 'A custom embedder returned something other than a list of vectors',
    next: 'Make it return one vector per text, in order; the message says what it returned instead.',
  },
  embedder_unavailable: {
    kind: 'bug',
    status: 500,
    title: 'The local embedder cannot be started',
    next: 'Install Sluice again on a platform that onnxruntime-node supports, or choose another embedder.',
  },
});
