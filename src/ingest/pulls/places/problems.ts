import { isSluiceError, type SluiceError } from '../../../lib/errors.ts';
import { parseRetryAfter } from '../../../lib/fetch/retry-after.ts';
import { maxJsonDepth } from '../../../lib/json-depth.ts';
import { parseJsonInTurns } from '../../../lib/json-in-turns.ts';
import { wellFormed } from '../../../lib/well-formed.ts';
import { pullFailures } from '../errors.ts';

/** What the class of a problem decides: whether it is tried again, and when. */
export type ProblemClass = 'auth' | 'rate_limit' | 'server' | 'permanent';

/** An answer of the other side that is no report. */
export class PullProblem extends Error {
  readonly code: string;
  readonly class: ProblemClass;
  readonly retryAfterMs: number | undefined;

  constructor(problemClass: ProblemClass, message: string, retryAfterMs?: number | undefined) {
    const error = raised(problemClass, message);
    super(error.message);
    this.code = error.code;
    this.class = problemClass;
    this.retryAfterMs = retryAfterMs;
  }
}

function raised(problemClass: ProblemClass, message: string): SluiceError {
  switch (problemClass) {
    case 'auth':
      return pullFailures.raise.pull_login_refused(message);
    case 'rate_limit':
      return pullFailures.raise.pull_rate_limited(message);
    case 'server':
      return pullFailures.raise.pull_unavailable(message);
    case 'permanent':
      return pullFailures.raise.pull_refused(message);
  }
}

export interface Answered {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** By the status alone, for sides that say nothing more. */
export function classOfStatus(status: number): ProblemClass {
  if (status === 401 || status === 403) return 'auth';
  if (status === 429) return 'rate_limit';
  return status >= 500 || status === 408 ? 'server' : 'permanent';
}

export function retryAfterOf({ headers }: Pick<Answered, 'headers'>): number | undefined {
  return parseRetryAfter(headers['retry-after'], headers.date);
}

/** Words of the other side for a message: one line, not too long. */
export function quoted(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? '');
  return wellFormed(text.replaceAll(/\s+/g, ' ').slice(0, 500));
}

/** Throws when the body is no JSON, such as the page of a proxy, or nested too deeply. */
export async function parseAnswer(who: string, { status, headers, body }: Answered): Promise<unknown> {
  const parsed = await parseJsonInTurns(body);
  if ('value' in parsed) return parsed.value;
  const start = quoted(body.subarray(0, 200).toString('utf8'));
  if (status >= 400) {
    const message = `${who} answered ${status}: ${start}`;
    throw new PullProblem(classOfStatus(status), message, retryAfterOf({ headers }));
  }
  const what = parsed.problem === 'too_deep' ? `JSON of more than ${maxJsonDepth} levels` : 'no JSON';
  throw pullFailures.raise.pull_answer_unreadable(`${who} answered with something that is ${what}: ${start}`);
}

/** Errors of our own fetch, in the same classes. */
export function classOfError(error: unknown): ProblemClass | null {
  if (error instanceof PullProblem) return error.class;
  if (!isSluiceError(error)) return null;
  // A wrong password or path: another try in a minute would be refused, too, and lock the account in the end.
  if (error.code === 'adapter_refused') return 'permanent';
  if (error.code.startsWith('s3_') || error.code.startsWith('adapter_')) {
    return error.kind === 'invalid' ? 'permanent' : 'server';
  }
  if (['fetch_timeout', 'fetch_failed', 'host_not_found'].includes(error.code)) return 'server';
  return error.kind === 'transient' || error.kind === 'rate_limited' ? 'server' : 'permanent';
}
