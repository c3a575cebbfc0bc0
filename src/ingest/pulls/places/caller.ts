import type { SecretPurse } from '../../../kernel/secrets/lent-secret.ts';
import type { FetchOptions, GuardedFetch } from '../../../lib/fetch/guarded-fetch.ts';
import { type Answered, parseAnswer } from './problems.ts';

/** What readers of one pull call the other side with. */
export interface Caller {
  /** Sends no lent secret to a host that it is not for. */
  fetch: GuardedFetch;
  purse: SecretPurse;
  signal: AbortSignal;
  /** Throws when another worker has taken the pull over: nothing more is asked then. */
  assertHeld(): Promise<void>;
}

/** One answer of an API is read into memory. */
const maxAnswerBytes = 64 * 1024 * 1024;
const answerTimeoutMs = 5 * 60_000;

async function call(
  { fetch, signal, assertHeld }: Caller,
  url: string,
  options: Pick<FetchOptions, 'method' | 'headers' | 'body'> = {},
): Promise<Answered> {
  await assertHeld();
  // A redirect of an API is a mistake in its address, and would carry the request elsewhere.
  const limits = { maxBytes: maxAnswerBytes, timeoutMs: answerTimeoutMs, maxRedirects: 0, signal };
  const { status, headers, body } = await fetch(url, { ...options, ...limits });
  return { status, headers, body };
}

/** The answer as JSON, with its status. */
export async function callJson(
  caller: Caller,
  { who, url, ...options }: { who: string; url: string } & Pick<FetchOptions, 'method' | 'headers' | 'body'>,
): Promise<{ answer: unknown; answered: Answered }> {
  const answered = await call(caller, url, options);
  return { answer: await parseAnswer(who, answered), answered };
}
