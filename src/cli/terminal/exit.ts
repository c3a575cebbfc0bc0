import { CommanderError } from 'commander';
import { isSluiceError, messageOf } from '../../lib/errors.ts';
import { toDatabaseError } from '../../lib/postgres/db-errors.ts';

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

/** The command was used wrongly; the message says what is allowed. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** A command failed for an outside reason: the exit code says which kind, `next` what to do. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly exitCode: ExitCode;
  readonly next: string;
  /** The same command may work in a moment. */
  readonly isPassing: boolean;
  /** The code of the server's refusal; null when the failure was another one. */
  readonly code: string | null;

  constructor(
    message: string,
    traits: { exitCode: ExitCode; next: string; isPassing?: boolean; code?: string; cause?: unknown },
  ) {
    super(message, traits.cause === undefined ? undefined : { cause: traits.cause });
    this.exitCode = traits.exitCode;
    this.next = traits.next;
    this.isPassing = traits.isPassing ?? false;
    this.code = traits.code ?? null;
  }
}

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  if (error instanceof UsageError) return exitCodes.usage;
  if (error instanceof CommandFailure) return error.exitCode;
  const known = toDatabaseError(error);
  if (isSluiceError(known)) {
    const byCode = codes[known.code];
    if (byCode !== undefined) return byCode;
    if (known.kind === 'unauthenticated' || known.kind === 'forbidden') return exitCodes.auth;
    return exitCodes.failed;
  }
  return isRefusedLogin(error) ? exitCodes.auth : exitCodes.failed;
}

/** The text for a person: what happened, then what can be done about it. */
export function explainError(error: unknown): string {
  if (error instanceof CommandFailure) return `${error.message}\n${error.next}`;
  const known = toDatabaseError(error);
  if (isSluiceError(known)) return `${known.message}\n${known.definition.next}`;
  if (!isRefusedLogin(error)) return messageOf(error);
  const next = 'Check user and password in DATABASE_URL, DATABASE_APP_URL and DATABASE_KERNEL_URL.';
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
