import { decideRetry, type RetryPolicy } from '../../../kernel/jobs/run/retry.ts';
import type { JobFailure, Outcome } from '../../../kernel/jobs/types.ts';
import { isSluiceError, messageOf } from '../../../lib/errors.ts';
import type { RetryRule, RetryRules } from '../types.ts';

const usualRetries = 3;
const usualDelay = { baseMs: 1_000, capMs: 60_000, jitter: 0.25 };

/** The most retries that any class of errors has: what a job is made with. */
export function mostRetries(rules: RetryRules = {}): number {
  const all = [rules, ...Object.values(rules.classes ?? {}).filter((rule) => rule !== false)];
  return Math.max(...all.map((rule) => rule.maxRetries ?? rules.maxRetries ?? usualRetries));
}

/** What becomes of a job whose code threw. Own errors that no retry can mend make a dead letter at once. */
export function outcomeOf(error: unknown, rules: RetryRules = {}, retriesUsed: number): Outcome {
  const failure = failureOf(error, rules);
  const rule = rules.classes?.[failure.class];
  if (rule === false || (rule === undefined && isHopeless(error))) return { type: 'dead', failure };
  const decision = decideRetry(policyOf({ ...withoutClasses(rules), ...rule }), retriesUsed);
  return decision.retry ? { type: 'retry', failure, delayMs: decision.delayMs } : { type: 'dead', failure };
}

function withoutClasses({ maxRetries, delay }: RetryRules): RetryRule {
  return { ...(maxRetries === undefined ? {} : { maxRetries }), ...(delay === undefined ? {} : { delay }) };
}

function isHopeless(error: unknown): boolean {
  return isSluiceError(error) && ['input_invalid', 'not_json', 'transaction_control'].includes(error.code);
}

function policyOf({ maxRetries = usualRetries, delay }: RetryRule): RetryPolicy {
  if (delay === undefined) return { maxRetries, delay: { type: 'exponential', ...usualDelay } };
  if (typeof delay === 'number') return { maxRetries, delay: { type: 'fixed', delayMs: delay } };
  if (delay.type === 'exponential') return { maxRetries, delay: { ...usualDelay, ...delay } };
  return { maxRetries, delay };
}

const maxMessage = 2_000;

function failureOf(error: unknown, rules: RetryRules): JobFailure {
  const code = codeOf(error);
  const name = error instanceof Error ? error.name : 'Error';
  return {
    code: code ?? codeOfName(name),
    message: messageOf(error).replaceAll('\0', '').slice(0, maxMessage),
    class: rules.classOf?.(error) ?? usualClass({ code, name, rules }),
  };
}

function usualClass({ code, name, rules }: { code: string | null; name: string; rules: RetryRules }): string {
  return code !== null && (rules.classes === undefined || code in rules.classes) ? code : name;
}

function codeOf(error: unknown): string | null {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' && /^[A-Za-z0-9][\w.-]{0,99}$/.test(code) ? code : null;
}

/** CardDeclined → card_declined */
function codeOfName(name: string): string {
  if (name === 'Error' || !/^[A-Za-z]\w{0,99}$/.test(name)) return 'task_failed';
  return name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toLowerCase();
}
