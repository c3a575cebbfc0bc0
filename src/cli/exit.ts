import { CommanderError } from 'commander';
import { toDatabaseError } from '../lib/db-errors.ts';
import { isSluiceError, messageOf } from '../lib/errors.ts';

/** What a command's exit code says; scripts rely on these. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  someRowsFailed: 3,
  auth: 4,
  unreachable: 5,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The command was used in a way that it does not offer; the message says what it offers. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  if (error instanceof UsageError) return exitCodes.usage;
  const known = toDatabaseError(error);
  if (isSluiceError(known)) {
    const byCode = codes[known.code];
    if (byCode !== undefined) return byCode;
    if (known.kind === 'unauthenticated' || known.kind === 'forbidden') return exitCodes.auth;
    return exitCodes.failed;
  }
  return isRefusedLogin(error) ? exitCodes.auth : exitCodes.failed;
}

/** What a person reads: what happened, then what can be done about it. */
export function explainError(error: unknown): string {
  const known = toDatabaseError(error);
  if (isSluiceError(known)) return `${known.message}\n${known.definition.next}`;
  if (!isRefusedLogin(error)) return messageOf(error);
  const next = 'Check user and password in DATABASE_URL and DATABASE_APP_URL.';
  return `The database refused the login: ${messageOf(error)}\n${next}`;
}

/** PostgreSQL's class 28. */
function isRefusedLogin(error: unknown): boolean {
  return String((error as { code?: unknown } | null)?.code).startsWith('28');
}

const codes: Record<string, ExitCode | undefined> = {
  configuration_invalid: exitCodes.usage,
  migration_unknown: exitCodes.usage,
  database_unavailable: exitCodes.unreachable,
  query_timeout: exitCodes.unreachable,
};
