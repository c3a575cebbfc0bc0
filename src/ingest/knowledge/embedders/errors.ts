import {
  bug,
  conflict,
  defineErrors,
  forbidden,
  invalid,
  notFound,
  rateLimited,
  transient,
} from '../../../lib/errors.ts';

/**
 * Errors of embedders. The kind says what a run does: `invalid` is caused by a text, so halves are tried until it is
 * found; `transient` and `rate_limited` are retried; everything else needs a person.
 */
export const embedderErrors = defineErrors({
  embedder_refused: invalid(
    'The embedder refused a text',
    'Read the message; change or remove the text, or choose smaller chunks.',
  ),
  embedder_text_too_long: invalid(
    'A text is longer than the embedder takes',
    'Lower max_tokens of the chunker, and start the run again.',
  ),
  embedder_vector_unusable: invalid(
    'The embedder made no usable vector for a text',
    'Change or remove the text; if it happens with every text, check the embedder.',
  ),
  embedder_rate_limited: rateLimited(
    'The embedder asked to slow down',
    'Nothing to do: the run waits and continues. Raise the limit at the provider if it lasts.',
  ),
  embedder_unreachable: transient(
    'The embedder could not be reached or did not respond in time',
    'Nothing to do: the call is retried. Check base_url and the network if it lasts.',
  ),
  embedder_failed: transient(
    'The embedder failed',
    'Nothing to do: the call is retried. Check the provider’s status if it lasts.',
  ),
  embedder_answer_unreadable: transient(
    'The embedder’s response could not be read',
    'Check that base_url is the address of an OpenAI-compatible API and that no proxy responds instead.',
  ),
  embedder_stopped: transient(
    'The local embedder stopped during a call',
    'Nothing to do: it is started again. Give the machine more memory if it happens often.',
  ),
  embedder_unauthorized: forbidden(
    'The embedder does not accept the key',
    'Store a valid key under the name in api_key_secret with PUT /api/secrets/{name}, then resume the run.',
  ),
  embedder_quota_exhausted: forbidden(
    'The account at the embedder’s provider has no credit left',
    'Add credit or raise the budget at the provider, then resume the run.',
  ),
  embedder_not_found: notFound(
    'The embedder does not know the model or the address',
    'Check model and base_url of the knowledge base (base_url without /embeddings).',
  ),
  embedder_misconfigured: conflict(
    'The embedder cannot work with its settings',
    'Correct the setting named in the message.',
    422,
  ),
  embedder_unknown: conflict(
    'There is no custom embedder with this name',
    'Use one of the names in the message, or register an embedder under this name in sluice.config.mjs.',
    422,
  ),
  embedder_definition_invalid: conflict(
    'An embedder in the configuration is not usable',
    'Correct `embedders` in sluice.config.mjs as the message says, and start again.',
    422,
  ),
  embedder_misbehaved: bug(
    'A custom embedder returned something other than a list of vectors',
    'Make it return one vector per text, in order; the message says what it returned instead.',
  ),
  embedder_unavailable: bug(
    'The local embedder cannot be started',
    'Install Sluice again on a platform that onnxruntime-node supports, or choose another embedder.',
  ),
});
