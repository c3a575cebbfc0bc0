import { defineErrors, invalid, transient } from '../errors.ts';

export const fetchErrors = defineErrors({
  url_invalid: invalid(
    'An outgoing URL is not usable',
    'Give an absolute http or https URL without user name and password in it.',
  ),
  address_blocked: invalid(
    'An outgoing request was refused because of where it leads',
    'Use a public host. For an intranet, an operator can set SLUICE_BLOCK_PRIVATE_ADDRESSES=false.',
  ),
  fetch_request_invalid: invalid(
    'An outgoing request is malformed',
    'Correct the method or the header that the message names.',
  ),
  too_many_redirects: invalid(
    'An outgoing request was redirected too often',
    'Use the address that the redirects end at.',
  ),
  response_too_large: invalid(
    'The answer to an outgoing request is too large',
    'Ask for less, or raise the limit that the message names where it can be set.',
  ),
  fetch_timeout: transient(
    'An outgoing request took too long',
    'Nothing has to be done: it is tried again where retries apply. Check the host if it goes on.',
    504,
  ),
  fetch_failed: transient(
    'An outgoing request failed',
    'Nothing has to be done: it is tried again where retries apply. Check the host if it goes on.',
    502,
  ),
  host_not_found: transient(
    'The host of an outgoing request was not found',
    'Check the spelling of the host and that this machine can resolve names.',
    502,
  ),
});
