import { isSluiceError, messageOf, type SluiceError } from '../../../lib/errors.ts';
import type { FetchAnswer } from '../../../lib/fetch/guarded-fetch.ts';
import { parseRetryAfter } from '../../../lib/fetch/retry-after.ts';
import { asObject } from '../../../lib/json.ts';
import { parseForeignJson } from '../../../lib/json-depth.ts';
import { embedderErrors } from './errors.ts';

const { raise } = embedderErrors;

export interface Exchange {
  host: string;
  hasKey: boolean;
  /** Removes the key from a text. */
  scrub(text: string): string;
}

/** The error of a provider; empty strings for what it does not say. */
interface ProviderError {
  message: string;
  code: string;
  /** The parameter that caused the error. */
  param: string;
}

const maxRetryInMs = 24 * 3_600_000;
const maxQuoteLength = 300;
/** Errors of settings, not of texts: halves would fail in the same way. */
const settingNames = ['model', 'dimensions', 'encoding_format', 'user'];

/** The error for a response that is not a 2xx. */
export function refusalOf(answer: FetchAnswer<Buffer>, exchange: Exchange): SluiceError {
  const { status } = answer;
  const said = readProviderError(answer.body);
  const message = `${exchange.host} answered ${status}${quote(said, exchange)}`;
  if (status === 401 || status === 403) return unauthorized(message, exchange);
  if (status === 402 || said.code === 'insufficient_quota') return raise.embedder_quota_exhausted(message);
  if (status === 404) return raise.embedder_not_found(message);
  const wait = waitOf(answer.headers);
  if (status === 429 || (status === 503 && wait.retryInMs !== undefined)) {
    return raise.embedder_rate_limited(message, { details: wait });
  }
  if (status >= 500 || status === 408 || status === 409 || status === 425) {
    return raise.embedder_failed(message, { details: wait });
  }
  if (status < 400) {
    return raise.embedder_misconfigured(
      `${message}, a redirect. Set base_url to the address that it redirects to`,
    );
  }
  if (status === 405) return raise.embedder_not_found(message);
  if (settingNames.includes(said.param)) {
    return raise.embedder_misconfigured(`${message}. Correct ${said.param} of the embedder`);
  }
  return raise.embedder_refused(message);
}

/** The error for a request without a response. Invalid addresses and headers come from the settings, not the texts. */
export function failureOf(error: unknown, { host, scrub }: Exchange): unknown {
  if (!isSluiceError(error)) return error;
  const message = `The request to ${host} failed: ${scrub(messageOf(error))}`;
  if (error.kind === 'transient') return raise.embedder_unreachable(message, { cause: error });
  if (error.code === 'response_too_large') return raise.embedder_answer_unreadable(message, { cause: error });
  return raise.embedder_misconfigured(message, { cause: error });
}

function readProviderError(body: Buffer): ProviderError {
  const answer = asObject(parseForeignJson(body));
  const error = asObject(answer.error);
  const message =
    textOf(error.message) || textOf(answer.error) || textOf(answer.message) || textOf(answer.detail);
  return { message, code: textOf(error.code), param: textOf(error.param) };
}

function unauthorized(message: string, { hasKey }: Exchange): SluiceError {
  const advice = hasKey ? '' : '. No key was sent: name a stored secret in api_key_secret';
  return raise.embedder_unauthorized(`${message}${advice}`);
}

function waitOf(headers: Record<string, string>): { retryInMs?: number } {
  const exact = headers['retry-after-ms'];
  const isExact = exact !== undefined && /^\d{1,12}$/.test(exact);
  const waitMs = isExact ? Number(exact) : parseRetryAfter(headers['retry-after'], headers.date);
  return waitMs === undefined ? {} : { retryInMs: Math.min(waitMs, maxRetryInMs) };
}

/** Scrubbed before it is shortened: a part of a key must not be shown either. */
function quote({ message }: ProviderError, { scrub }: Exchange): string {
  const line = scrub(message)
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  if (line === '') return '';
  return `: ${line.length > maxQuoteLength ? `${line.slice(0, maxQuoteLength)}…` : line.replace(/\.$/, '')}`;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
