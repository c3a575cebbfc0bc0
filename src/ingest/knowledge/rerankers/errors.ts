import { bug, conflict, defineErrors, forbidden, rateLimited, transient } from '../../../lib/errors.ts';

/** Why results were not ordered anew. A search then returns them in its own order, and says so in a note. */
export const rerankerErrors = defineErrors({
  reranker_unreachable: transient(
    'The reranker could not be reached or did not respond in time',
    'Check its url and the network. Searches work without it meanwhile.',
  ),
  reranker_failed: transient(
    'The reranker failed',
    'Check the provider’s status. Searches work without it meanwhile.',
  ),
  reranker_rate_limited: rateLimited(
    'The reranker asked to slow down',
    'Raise the limit at the provider if it lasts. Searches work without it meanwhile.',
  ),
  reranker_unauthorized: forbidden(
    'The reranker does not accept the key',
    'Store a valid key under the name in api_key_secret with PUT /api/secrets/{name}.',
  ),
  reranker_refused: conflict(
    'The reranker refused the request',
    'Check url and model of the reranker; the message has what it said.',
    422,
  ),
  reranker_answer_unreadable: transient(
    'The reranker’s response could not be read',
    'Check that url is the address of a Cohere-style rerank endpoint, such as https://api.cohere.com/v2/rerank.',
  ),
  reranker_unknown: conflict(
    'There is no custom reranker with this name',
    'Use one of the names in the message, or define one in sluice.config.mjs with defineReranker.',
    422,
  ),
  reranker_definition_invalid: conflict(
    'A reranker in the configuration is not usable',
    'Correct `rerankers` in sluice.config.mjs as the message says, and start again.',
    422,
  ),
  reranker_misbehaved: bug(
    'A custom reranker returned something other than a list of numbers',
    'Make it return one number per text, in order; the message says what it returned instead.',
  ),
});
