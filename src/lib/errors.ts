/**
 * Every error that Sluice raises on purpose has a kind (what a caller should do about it), a stable code and a
 * sentence for a person. Each house keeps its codes in a catalogue (`errors.ts`), from which docs/errors.md is made.
 */
export type ErrorKind =
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'rate_limited'
  | 'transient'
  | 'bug';

export interface ErrorDefinition {
  kind: ErrorKind;
  /** HTTP status of the response that carries this code. */
  status: number;
  /** Short and the same every time; the message says what happened this time. */
  title: string;
  /** What the reader can do next. */
  next: string;
}

/** One wrong place in the input: a JSON pointer (`/body/name`) and what is allowed there. */
export interface FieldProblem {
  pointer: string;
  message: string;
}

export interface ErrorExtras {
  /** Further members of the problem document, such as `active_job_id`. */
  details?: Record<string, unknown>;
  fields?: FieldProblem[];
  retryAfterSeconds?: number;
  cause?: unknown;
}

export class SluiceError extends Error {
  readonly code: string;
  readonly definition: ErrorDefinition;
  readonly details: Record<string, unknown>;
  readonly fields: FieldProblem[];
  readonly retryAfterSeconds: number | undefined;

  constructor(code: string, definition: ErrorDefinition, message: string, extras: ErrorExtras = {}) {
    super(message, extras.cause === undefined ? undefined : { cause: extras.cause });
    this.name = 'SluiceError';
    this.code = code;
    this.definition = definition;
    this.details = extras.details ?? {};
    this.fields = extras.fields ?? [];
    this.retryAfterSeconds = extras.retryAfterSeconds;
  }

  get kind(): ErrorKind {
    return this.definition.kind;
  }
}

export type ErrorFactory = (message: string, extras?: ErrorExtras) => SluiceError;

export interface ErrorCatalogue<Code extends string = string> {
  definitions: Record<Code, ErrorDefinition>;
  raise: Record<Code, ErrorFactory>;
}

export function defineErrors<Code extends string>(
  definitions: Record<Code, ErrorDefinition>,
): ErrorCatalogue<Code> {
  const raise = {} as Record<Code, ErrorFactory>;
  for (const code of Object.keys(definitions) as Code[]) {
    raise[code] = (message, extras) => new SluiceError(code, definitions[code], message, extras);
  }
  return { definitions, raise };
}

/** The kinds as definitions, each with its usual status. */
export const invalid = definitionOf('invalid', 422);
export const unauthenticated = definitionOf('unauthenticated', 401);
export const forbidden = definitionOf('forbidden', 403);
export const notFound = definitionOf('not_found', 404);
export const conflict = definitionOf('conflict', 409);
export const rateLimited = definitionOf('rate_limited', 429);
export const transient = definitionOf('transient', 503);
export const bug = definitionOf('bug', 500);

function definitionOf(kind: ErrorKind, usualStatus: number) {
  return (title: string, next: string, status = usualStatus): ErrorDefinition => ({
    kind,
    status,
    title,
    next,
  });
}

export function isSluiceError(error: unknown): error is SluiceError {
  return error instanceof SluiceError;
}

/** The message of anything thrown, for logs and rows; never empty. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) {
    return error.errors.map(messageOf).join('; ');
  }
  if (error instanceof Error) return error.message || error.name;
  return String(error);
}

/** A chapter of docs/errors.md. */
export interface ErrorChapter {
  title: string;
  catalogue: Pick<ErrorCatalogue, 'definitions'>;
}
