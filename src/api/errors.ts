import {
  bug,
  conflict,
  defineErrors,
  forbidden,
  invalid,
  notFound,
  rateLimited,
  transient,
  unauthenticated,
} from '../lib/errors.ts';

export const apiErrors = defineErrors({
  unauthenticated: unauthenticated(
    'The request has no valid credentials',
    'Send `Authorization: Bearer` with a token or an API key, or log in.',
  ),
  forbidden: forbidden(
    'The role does not allow this',
    'Ask a person with one of the named roles; docs/roles.md has the whole table.',
  ),
  cross_site_request: forbidden(
    'The request comes from another site',
    'A session works only from Sluice’s own pages. From elsewhere send a token or an API key.',
  ),
  malformed_request: invalid(
    'The request does not have the right form',
    'Correct what `errors` points at; /api/docs shows the form of every request.',
    400,
  ),
  malformed_body: invalid('The body is not valid JSON', 'Send one JSON document, encoded as UTF-8.', 400),
  malformed_url: invalid(
    'The URL cannot be read',
    'Percent-encode everything but letters, digits and -._~ in path parts.',
    400,
  ),
  malformed_http: invalid('The request is not valid HTTP', 'Check the client or the proxy in between.', 400),
  headers_too_large: invalid(
    'The request’s headers are too large',
    'Send fewer and shorter headers; 16 KiB altogether are allowed.',
    431,
  ),
  request_timeout: transient(
    'The request did not arrive in time',
    'Send the request again without pauses.',
    408,
  ),
  body_too_slow: transient(
    'The body arrived too slowly',
    'Send it again over a better connection. The operator sets the limit with SLOW_BODY_BYTES_PER_SECOND.',
    408,
  ),
  body_too_large: invalid(
    'The body is too large',
    'Send less at once; the operator sets the limit with MAX_BODY_BYTES.',
    413,
  ),
  unsupported_media_type: invalid(
    'The body’s media type is not accepted',
    'Send `Content-Type: application/json`, or multipart/form-data where a file is expected.',
    415,
  ),
  route_not_found: notFound('There is no such route', 'See /api/docs for all routes and their methods.'),
  rate_limited: rateLimited(
    'Too many requests',
    'Wait as long as Retry-After says. The operator sets the limit with RATE_LIMIT_PER_MINUTE.',
  ),
  tenant_rate_limited: rateLimited(
    'The tenant makes too many requests',
    'Wait as long as Retry-After says. The operator sets the limit with TENANT_REQUESTS_PER_MINUTE.',
  ),
  invalid_idempotency_key: invalid(
    'The Idempotency-Key is not valid',
    'Send 1 to 255 visible ASCII characters, for instance a UUID.',
    400,
  ),
  idempotency_key_reused: invalid(
    'The Idempotency-Key was used for another request',
    'Use a new key for a new request; repeat a request unchanged.',
  ),
  idempotency_in_flight: conflict(
    'A request with this Idempotency-Key is still running',
    'Wait as long as Retry-After says and repeat the request unchanged.',
  ),
  idempotency_taken_over: conflict(
    'The request took so long that a retry has taken it over',
    'This request changed nothing. Repeat it unchanged to get the response of the retry.',
  ),
  idempotency_answer_lost: conflict(
    'The stored response can no longer be read',
    'The first request took effect. Look up its result, or send a new request with a new key.',
  ),
  internal_error: bug(
    'Something went wrong on our side',
    'Try again; if it happens again, report it with the request id.',
  ),
});
