import { messageOf, type SluiceError } from '../../../lib/errors.ts';
import type { FetchAnswer } from '../../../lib/fetch/guarded-fetch.ts';
import { parseRetryAfter } from '../../../lib/fetch/retry-after.ts';
import { asObject } from '../../../lib/json.ts';
import { parseForeignJson } from '../../../lib/json-depth.ts';
import { type AirbyteAnswer, type AirbyteProblemCode, airbyteProblemClasses } from './types.ts';

export type Refusal = Exclude<AirbyteAnswer<never>, { type: 'ok' }>;
/** Removes secrets from a text. */
export type Scrub = (text: string) => string;

const maxRetryAfterMs = 24 * 3_600_000;
const maxQuoteLength = 300;

/** A response that is not a 2xx. */
export function refusalOf(answer: FetchAnswer<Buffer>, scrub: Scrub): Refusal {
  const { status, headers } = answer;
  const said = readErrorBody(answer.body);
  const code = isForeign(answer, said) ? 'wrong_address' : codeOf(status, said);
  const retryAfterMs = parseRetryAfter(headers['retry-after'], headers.date);
  const problem = {
    ...problemOf(code, withAdvice(code, `Airbyte returned ${status}${quote(said, scrub)}`)),
    status,
    retryAfterMs: retryAfterMs === undefined ? null : Math.min(retryAfterMs, maxRetryAfterMs),
  };
  return { type: isDefinite(status) ? 'definite' : 'ambiguous', problem };
}

/**
 * Airbyte describes what it does not find, and never redirects. A login page, a redirect to one, or a bare 404 comes
 * from another server, or from another path of this one.
 */
function isForeign({ status }: FetchAnswer<Buffer>, { type, title, detail, isProblem }: ErrorBody): boolean {
  if (status < 400) return true;
  return status === 404 && !(isProblem && `${type}${title}${detail}` !== '');
}

/** A 2xx response that is a page: a login or a proxy responds in Airbyte's place. */
export function isPage({ headers, body }: FetchAnswer<Buffer>): boolean {
  return (
    /^text\/html\b/i.test(String(headers['content-type'] ?? '')) ||
    /^\s*</.test(body.toString('latin1', 0, 200))
  );
}

export function foreignPage(status: number): Refusal {
  const message = withAdvice(
    'wrong_address',
    `A web page came back (${status}) where Airbyte’s API was expected`,
  );
  return { type: 'ambiguous', problem: { ...problemOf('wrong_address', message), status } };
}

/** A 2xx response that breaks the schema: the request has probably taken effect. */
export function unreadable(status: number, reason: string): Refusal {
  const happened = `Airbyte returned ${status}, but not as its API promises: ${reason}`;
  const message = withAdvice('bad_answer', happened);
  return { type: 'ambiguous', problem: { ...problemOf('bad_answer', message), status } };
}

/** A request that got no response. */
export function failureOf(error: SluiceError, scrub: Scrub): Refusal {
  const { code, isSent } = failures[error.code] ?? { code: 'connection_error', isSent: true };
  const isAmbiguous = isSent && !isUnconnected(error.cause);
  const message = withAdvice(code, scrub(messageOf(error)).slice(0, maxQuoteLength));
  return { type: isAmbiguous ? 'ambiguous' : 'definite', problem: problemOf(code, message) };
}

/** When no connection to any of the host's addresses was made, nothing was sent. */
function isUnconnected(cause: unknown): boolean {
  if (cause instanceof AggregateError) return cause.errors.length > 0 && cause.errors.every(isUnconnected);
  const { code, syscall } = asObject(cause);
  return syscall === 'connect' || code === 'UND_ERR_CONNECT_TIMEOUT';
}

/** A request that was not sent because it could only have failed. */
export function notSent(message: string): Refusal {
  return { type: 'definite', problem: problemOf('bad_request', message) };
}

/** Without a token nothing was sent, and a refused token is a matter of the settings that all jobs share. */
export function withoutToken({ problem }: Refusal): Refusal {
  const isRefused = problem.class === 'permanent' || problem.class === 'auth' || problem.class === 'conflict';
  const code = isRefused ? 'auth_error' : problem.code;
  const message = `No access token could be obtained. ${problem.message}`;
  return { type: 'definite', problem: { ...problem, code, class: airbyteProblemClasses[code], message } };
}

function problemOf(code: AirbyteProblemCode, message: string) {
  return { status: null, code, class: airbyteProblemClasses[code], message, retryAfterMs: null };
}

/** Says nothing about a retry: that depends on the caller. */
function withAdvice(code: AirbyteProblemCode, happened: string): string {
  return `${happened}. ${advice[code]}`.trimEnd();
}

const failures: Record<string, { code: AirbyteProblemCode; isSent: boolean } | undefined> = {
  fetch_timeout: { code: 'timeout', isSent: true },
  response_too_large: { code: 'bad_answer', isSent: true },
  fetch_failed: { code: 'connection_error', isSent: true },
  host_not_found: { code: 'connection_error', isSent: false },
  url_invalid: { code: 'connection_error', isSent: false },
  address_blocked: { code: 'connection_error', isSent: false },
  fetch_request_invalid: { code: 'connection_error', isSent: false },
};

const advice: Record<AirbyteProblemCode, string> = {
  auth_error: 'Check AIRBYTE_API_TOKEN, or AIRBYTE_CLIENT_ID and AIRBYTE_CLIENT_SECRET.',
  forbidden: 'Give the Airbyte application access to the workspace of this connection.',
  rate_limit: 'The limit is shared by all applications of the Airbyte user.',
  server_error: '',
  timeout: '',
  connection_error: 'If this continues, check AIRBYTE_BASE_URL and the network.',
  already_running: 'Adopt the running job, or wait for its end.',
  state_conflict: 'Look at the connection in Airbyte: only an active one can be synced.',
  insufficient_credits: 'Buy credits for the Airbyte workspace, then requeue the job.',
  wrong_address:
    'Check AIRBYTE_BASE_URL: it must be the address of the API, such as https://api.airbyte.com/v1.',
  not_found: 'Check that the connection still exists in Airbyte and that AIRBYTE_BASE_URL is right.',
  bad_request: 'Check the connection in Airbyte; the same request would be refused again.',
  bad_answer: 'If this continues, check that AIRBYTE_BASE_URL is the address of the Airbyte API.',
};

/** A 4xx means that it did not happen, except 408: the server stopped waiting for something that may still happen. */
function isDefinite(status: number): boolean {
  return status >= 300 && status < 500 && status !== 408;
}

interface ErrorBody {
  /** Whether it has the members of a problem, and not just a message. */
  isProblem: boolean;
  type: string;
  title: string;
  detail: string;
}

/** Redirects are not followed, because they would turn a POST into a GET. */
function codeOf(status: number, said: ErrorBody): AirbyteProblemCode {
  if (status >= 500) return 'server_error';
  if (/insufficient-credit/i.test(`${said.type} ${said.title}`)) return 'insufficient_credits';
  if (status === 409) return conflictCodeOf(said);
  return codeOfStatus[status] ?? 'bad_request';
}

const codeOfStatus: Record<number, AirbyteProblemCode | undefined> = {
  401: 'auth_error',
  403: 'forbidden',
  404: 'not_found',
  408: 'timeout',
  429: 'rate_limit',
};

function conflictCodeOf({ type, title, detail }: ErrorBody): AirbyteProblemCode {
  const named = `${type} ${title}`;
  if (/state-conflict/i.test(named)) return 'state_conflict';
  return /try-again-later/i.test(named) || /already running/i.test(detail)
    ? 'already_running'
    : 'state_conflict';
}

/** Gateways in front of Airbyte send HTML, or their own JSON with only a message. */
function readErrorBody(body: Buffer): ErrorBody {
  const said = asObject(parseForeignJson(body));
  const detail = textOf(said.detail) || textOf(asObject(said.data).message) || textOf(said.message);
  const isProblem = 'title' in said || 'type' in said || 'detail' in said;
  return { isProblem, type: textOf(said.type), title: textOf(said.title), detail };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : '';
}

/** Scrubbed before it is shortened: half a secret is still a secret. */
function quote({ title, detail }: Pick<ErrorBody, 'title' | 'detail'>, scrub: Scrub): string {
  const words = [title, detail].filter((text) => text !== '').join(': ');
  const oneLine = scrub(words).replace(/[\p{Cc}\s]+/gu, ' ');
  const short = oneLine.length > maxQuoteLength ? `${oneLine.slice(0, maxQuoteLength)}…` : oneLine;
  return short === '' ? '' : ` (${short.replace(/[.\s]+$/, '')})`;
}
