import { defineErrors } from '../errors.ts';

export const fetchErrors = defineErrors({
  url_invalid: {
    kind: 'invalid',
    status: 422,
    title: 'An outgoing URL is not usable',
    next: 'Give an absolute http or https URL without user name and password in it.',
  },
  address_blocked: {
    kind: 'invalid',
    status: 422,
    title: 'An outgoing request was refused because of where it leads',
    next: 'Use a public host. For an intranet, an operator can set SLUICE_BLOCK_PRIVATE_ADDRESSES=false.',
  },
  fetch_request_invalid: {
    kind: 'invalid',
    status: 422,
    title: 'An outgoing request is malformed',
    next: 'Correct the method or the header that the message names.',
  },
  too_many_redirects: {
    kind: 'invalid',
    status: 422,
    title: 'An outgoing request was redirected too often',
    next: 'Use the address that the redirects end at.',
  },
  response_too_large: {
    kind: 'invalid',
    status: 422,
    title: 'The answer to an outgoing request is too large',
    next: 'Ask for less, or raise the limit that the message names where it can be set.',
  },
  fetch_timeout: {
    kind: 'transient',
    status: 504,
    title: 'An outgoing request took too long',
    next: 'Nothing has to be done: it is tried again where retries apply. Check the host if it goes on.',
  },
  fetch_failed: {
    kind: 'transient',
    status: 502,
    title: 'An outgoing request failed',
    next: 'Nothing has to be done: it is tried again where retries apply. Check the host if it goes on.',
  },
  host_not_found: {
    kind: 'transient',
    status: 502,
    title: 'The host of an outgoing request was not found',
    next: 'Check the spelling of the host and that this machine can resolve names.',
  },
});
