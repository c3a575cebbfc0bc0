import { defineErrors, invalid, transient } from '../errors.ts';

export const fetchErrors = defineErrors({
  url_invalid: invalid(
    'An outgoing URL cannot be used',
    'Give an absolute http or https URL without user name and password in it.',
  ),
  address_blocked: invalid(
    'The target of an outgoing request is not allowed',
    'Use a public host. For an intranet, an operator can set SLUICE_BLOCK_PRIVATE_ADDRESSES=false.',
  ),
  fetch_request_invalid: invalid(
    'An outgoing request is malformed',
    'Correct the method or the header that the message names.',
  ),
  too_many_redirects: invalid(
    'An outgoing request was redirected too often',
    'Use the address where the redirects end.',
  ),
  response_too_large: invalid(
    'The response to an outgoing request is too large',
    'Request less, or raise the limit that the message names if it can be set.',
  ),
  fetch_timeout: transient(
    'An outgoing request took too long',
    'Nothing to do: it is retried where retries apply. If it keeps failing, check the host.',
    504,
  ),
  fetch_failed: transient(
    'An outgoing request failed',
    'Nothing to do: it is retried where retries apply. If it keeps failing, check the host.',
    502,
  ),
  host_not_found: transient(
    'The host of an outgoing request was not found',
    'Check the spelling of the host and that this machine can resolve names.',
    502,
  ),
});
