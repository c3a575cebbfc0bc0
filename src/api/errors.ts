import { defineErrors } from '../lib/errors.ts';

export const apiErrors = defineErrors({
  unauthenticated: {
    kind: 'unauthenticated',
    status: 401,
    title: 'The request has no valid credentials',
    next: 'Send `Authorization: Bearer` with a token or an API key, or log in.',
  },
  forbidden: {
    kind: 'forbidden',
    status: 403,
    title: 'The role does not allow this',
    next: 'Ask somebody who has one of the named roles; docs/roles.md has the whole table.',
  },
  cross_site_request: {
    kind: 'forbidden',
    status: 403,
    title: 'The request comes from another site',
    next: 'A session works only from Sluice’s own pages. From elsewhere send a token or an API key.',
  },
  malformed_request: {
    kind: 'invalid',
    status: 400,
    title: 'The request does not have the right form',
    next: 'Correct what `errors` points at; /api/docs shows the form of every request.',
  },
  malformed_body: {
    kind: 'invalid',
    status: 400,
    title: 'The body is not valid JSON',
    next: 'Send one JSON document, encoded as UTF-8.',
  },
  malformed_url: {
    kind: 'invalid',
    status: 400,
    title: 'The URL cannot be read',
    next: 'Percent-encode everything but letters, digits and -._~ in path parts.',
  },
  malformed_http: {
    kind: 'invalid',
    status: 400,
    title: 'The request is not valid HTTP',
    next: 'Check the client or the proxy in between.',
  },
  headers_too_large: {
    kind: 'invalid',
    status: 431,
    title: 'The request’s headers are too large',
    next: 'Send fewer and shorter headers; 16 KiB altogether are allowed.',
  },
  request_timeout: {
    kind: 'transient',
    status: 408,
    title: 'The request did not arrive in time',
    next: 'Send the request again without pauses.',
  },
  body_too_large: {
    kind: 'invalid',
    status: 413,
    title: 'The body is too large',
    next: 'Send less at once; the operator sets the limit with MAX_BODY_BYTES.',
  },
  unsupported_media_type: {
    kind: 'invalid',
    status: 415,
    title: 'The body’s media type is not accepted',
    next: 'Send `Content-Type: application/json`, or multipart/form-data where a file is expected.',
  },
  route_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'There is no such route',
    next: 'See /api/docs for all routes and their methods.',
  },
  rate_limited: {
    kind: 'rate_limited',
    status: 429,
    title: 'Too many requests',
    next: 'Wait as long as Retry-After says. The operator sets the limit with RATE_LIMIT_PER_MINUTE.',
  },
  invalid_idempotency_key: {
    kind: 'invalid',
    status: 400,
    title: 'The Idempotency-Key is not valid',
    next: 'Send 1 to 255 visible ASCII characters, for instance a UUID.',
  },
  idempotency_key_reused: {
    kind: 'invalid',
    status: 422,
    title: 'The Idempotency-Key was used for another request',
    next: 'Use a new key for a new request; repeat a request unchanged.',
  },
  idempotency_in_flight: {
    kind: 'conflict',
    status: 409,
    title: 'A request with this Idempotency-Key is still running',
    next: 'Wait as long as Retry-After says and repeat the request unchanged.',
  },
  idempotency_taken_over: {
    kind: 'conflict',
    status: 409,
    title: 'The request took so long that a retry has taken it over',
    next: 'This request changed nothing. Repeat it unchanged to get the response of the retry.',
  },
  idempotency_answer_lost: {
    kind: 'conflict',
    status: 409,
    title: 'The stored response can no longer be read',
    next: 'The first request took effect. Look up its result, or send a new request with a new key.',
  },
  internal_error: {
    kind: 'bug',
    status: 500,
    title: 'Something went wrong on our side',
    next: 'Try again; if it happens again, report it with the request id.',
  },
});
