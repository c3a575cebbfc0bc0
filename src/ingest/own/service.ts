import type { DispatchClient, OwnJobState } from '../../kernel/house/own-door.ts';
import {
  type BeforeCommit,
  dispatch,
  dispatchIn,
  getJob,
  type JobKey,
} from '../../kernel/jobs/dispatch/service.ts';
import { jobErrors } from '../../kernel/jobs/errors.ts';
import type { Kernel } from '../../kernel/jobs/kernel.ts';
import type { Job, NewJob } from '../../kernel/jobs/types.ts';
import { tenancyErrors } from '../../kernel/tenancy/errors.ts';
import { provisionTenant } from '../../kernel/tenancy/provisioning.ts';
import { newId } from '../../lib/ids.ts';
import { Bell } from '../../lib/timing/bell.ts';
import { checkInput, inputAsJson } from './definitions/input.ts';
import { mostRetries } from './definitions/retry.ts';
import { ownErrors } from './errors.ts';
import { dispatchThrough } from './own-store.ts';
import { resultKey } from './pipelines/own-pipeline.ts';
import type { OwnDefinition } from './types.ts';

export interface OwnDeps {
  kernel: Kernel;
  definitions: ReadonlyMap<string, OwnDefinition>;
}

export interface DispatchWish {
  tenantId: string;
  /** What the job is about; of one subject there is one active job at a time. Default: each job is its own. */
  subjectId?: string | undefined;
  runAt?: Date | undefined;
  createdBy: string;
  userId?: string;
  ipAddress?: string;
}

/** Whoever dispatches a task for a tenant that is new need not make it first. */
export class KnownTenants {
  readonly #kernel: Kernel;
  readonly #known = new Set<string>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  async ensure(tenantId: string): Promise<void> {
    if (this.#known.has(tenantId)) return;
    await this.#kernel.db.kernel((tx) => provisionTenant(tx, { tenantId, name: tenantId, plan: 'free' }));
    if (this.#known.size >= maxKnown) this.#known.clear();
    this.#known.add(tenantId);
  }

  forget(tenantId: string): void {
    this.#known.delete(tenantId);
  }
}

const maxKnown = 10_000;

function getDefinition({ definitions }: Pick<OwnDeps, 'definitions'>, name: string): OwnDefinition {
  const definition = definitions.get(name);
  if (definition) return definition;
  const names = [...definitions.keys()].join(', ') || 'none';
  throw ownErrors.raise.task_unknown(
    `There is no pipeline or task ${String(name).slice(0, 100)} here; there are: ${names}`,
  );
}

/** The job of a checked input. */
export async function jobFor(
  deps: Pick<OwnDeps, 'definitions'>,
  { name, input, wish }: { name: string; input: unknown; wish: DispatchWish },
): Promise<NewJob> {
  const definition = getDefinition(deps, name);
  await checkInput(definition, input);
  const { createdBy, userId, ipAddress, runAt, subjectId = newId() } = wish;
  return {
    pipeline: name,
    subjectId: checkedSubject(subjectId),
    maxRetries: mostRetries(definition.retry),
    createdBy,
    payload: { input: inputAsJson(input) ?? null },
    ...(userId === undefined ? {} : { userId }),
    ...(ipAddress === undefined ? {} : { ipAddress }),
    ...(runAt === undefined ? {} : { runAt: checkedMoment(runAt) }),
  };
}

function checkedSubject(subjectId: unknown): string {
  if (typeof subjectId === 'string' && /^[^\0\p{Surrogate}]{1,500}$/u.test(subjectId)) return subjectId;
  throw ownErrors.raise.input_invalid('A subjectId must be a text of 1 to 500 characters');
}

function checkedMoment(runAt: unknown): Date {
  if (runAt instanceof Date && !Number.isNaN(runAt.getTime())) return runAt;
  throw ownErrors.raise.input_invalid('runAt must be a valid Date');
}

/** Creates a job of a pipeline or task of one's own. With a free slot here it starts at once. */
export async function dispatchOwn(
  deps: OwnDeps,
  request: { name: string; input: unknown; wish: DispatchWish },
  beforeCommit?: BeforeCommit<Job>,
): Promise<Job> {
  const job = await jobFor(deps, request);
  const { tenantId } = request.wish;
  if (!beforeCommit) return dispatch(deps.kernel.jobs, tenantId, job);
  await deps.kernel.quotas.assertRoom(tenantId);
  return deps.kernel.db.tenant(tenantId, async (tx) => {
    const made = await dispatchIn(deps.kernel.jobs, tx, tenantId, job);
    await beforeCommit(tx, made);
    return made;
  });
}

/**
 * Through the caller's own connection, in its transaction: what it rolls back was never dispatched, and what it commits
 * is announced by PostgreSQL.
 */
export async function dispatchWith(
  deps: OwnDeps,
  client: DispatchClient,
  { name, input, wish }: { name: string; input: unknown; wish: DispatchWish },
): Promise<{ jobId: string }> {
  const job = await jobFor(deps, { name, input, wish });
  const { tenantId, subjectId = null, runAt = null } = wish;
  await deps.kernel.quotas.assertRoom(tenantId);
  const wanted = { tenantId, name, input: job.payload?.input, subjectId, runAt };
  try {
    return { jobId: await dispatchThrough(client, wanted) };
  } catch (error) {
    throw refusalOf(error);
  }
}

/** What the database refused, under the codes of other ways in. */
function refusalOf(error: unknown): unknown {
  const { code, constraint, message } = error as { code?: string; constraint?: string; message: string };
  const extras = { cause: error };
  if (constraint === 'job_already_active') return jobErrors.raise.job_already_active(message, extras);
  if (constraint === 'task_unknown') return ownErrors.raise.task_unknown(message, extras);
  if (constraint === 'input_invalid') return ownErrors.raise.input_invalid(message, extras);
  if (constraint === 'tenant_id_refused') return tenancyErrors.raise.tenant_id_refused(message, extras);
  if (constraint === 'tenant_erased') return tenancyErrors.raise.tenant_erased(message, extras);
  return code === '42501' ? ownErrors.raise.dispatch_refused(message, extras) : error;
}

/** A job as whoever dispatched it sees it. */
export function viewOf({ jobId, status, checkpoint, errorCode, errorMessage, counters }: Job): OwnJobState {
  return {
    jobId,
    status,
    ...(resultKey in checkpoint && { result: checkpoint[resultKey] }),
    ...(errorCode !== null && { error: { code: errorCode, message: errorMessage ?? '' } }),
    counters,
  };
}

const lookEveryMs = 500;

/** Resolves at the end of the job: done, dead letter, or canceled with its cleanup done. */
export async function waitForEnd(
  { kernel }: Pick<OwnDeps, 'kernel'>,
  key: JobKey,
  signal?: AbortSignal,
): Promise<OwnJobState> {
  const bell = new Bell();
  const unlisten = kernel.wake.on('events', () => bell.ring());
  const onAbort = () => bell.ring();
  signal?.addEventListener('abort', onAbort);
  try {
    for (;;) {
      signal?.throwIfAborted();
      const job = await getJob(kernel, key);
      if (['success', 'dead_letter', 'canceled'].includes(job.status) && !job.cleanupOpen) return viewOf(job);
      await bell.wait(lookEveryMs);
    }
  } finally {
    unlisten();
    signal?.removeEventListener('abort', onAbort);
  }
}
