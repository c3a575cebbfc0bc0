import { unexpectedOutcome } from '../../../src/kernel/jobs/run/slice-runner.ts';
import type { Outcome, Pipeline, Slice, SliceResult } from '../../../src/kernel/jobs/types.ts';
import { sql } from '../../../src/lib/postgres/sql.ts';

/**
 * A pipeline for tests only. Its job's payload is a script: `steps` is a list of outcomes, one per slice; each slice
 * writes one row of `probe_effects` (job, step), which tells whether a slice's effects were applied exactly once.
 */
export interface ProbePayload {
  steps?: ProbeStep[];
  cleanupSlices?: number;
}

export type ProbeStep =
  | { do: 'continue' | 'done' }
  | { do: 'wait' | 'retry'; delayMs: number }
  | { do: 'dead' }
  | { do: 'throw'; message: string }
  | { do: 'crash' }
  | { do: 'work'; ms: number };

/** Once per database, as its owner; a tenant's table like any other. */
export const probeTable = `
  do $$ begin
    if to_regclass('probe_effects') is null then
      create table probe_effects (
        tenant_id text not null references tenants on delete cascade, job_id uuid not null, step integer not null,
        worker text not null, epoch bigint not null, written_at timestamptz not null default clock_timestamp());
      perform guard_tenant_table('probe_effects');
      grant select, insert, delete on probe_effects to sluice_tenant;
    end if;
  end $$`;

export interface ProbeHooks {
  beforeCommit?: (slice: Slice, step: number) => Promise<void>;
}

export function probePipeline(hooks: ProbeHooks = {}, name = 'probe'): Pipeline {
  return {
    name,
    maxRetries: 5,
    async advance(slice) {
      const { steps = [{ do: 'done' }] } = slice.job.payload as ProbePayload;
      const at = Number(slice.job.checkpoint.step ?? 0);
      const step = steps[at] ?? { do: 'done' };
      const outcome = await perform(step, slice);
      await hooks.beforeCommit?.(slice, at);
      return {
        outcome: outcome.type === 'continue' && at === steps.length - 1 ? { type: 'done' } : outcome,
        checkpoint: { step: at + 1 },
        counters: { slices: at + 1 },
        effects: (tx) => writeEffect(tx, slice, at),
      } satisfies SliceResult;
    },
    async cleanUp(slice) {
      const left =
        Number(slice.job.checkpoint.cleanup ?? (slice.job.payload as ProbePayload).cleanupSlices ?? 1) - 1;
      return {
        outcome: left > 0 ? { type: 'continue' } : { type: 'done' },
        checkpoint: { cleanup: left },
        effects: async (tx) => {
          await tx.run(sql`
            delete from probe_effects
             where tenant_id = ${slice.job.tenantId}
               and job_id = ${slice.job.jobId}`);
        },
      };
    },
    onError: (error, job) =>
      error instanceof Error && error.message === 'permanent'
        ? { type: 'dead', failure: { code: 'probe_permanent', message: error.message, class: 'permanent' } }
        : unexpectedOutcome(error, job),
    remaining: (job) => ((job.payload as ProbePayload).steps?.length ?? 1) - Number(job.checkpoint.step ?? 0),
  };
}

async function perform(step: ProbeStep, slice: Slice): Promise<Outcome> {
  const failure = { code: 'probe_failed', message: 'The probe was told to fail', class: 'probe' };
  switch (step.do) {
    case 'continue':
    case 'done':
      return { type: step.do };
    case 'wait':
      return { type: 'wait', delayMs: step.delayMs };
    case 'retry':
      return { type: 'retry', delayMs: step.delayMs, failure };
    case 'dead':
      return { type: 'dead', failure };
    case 'throw':
      throw new Error(step.message);
    case 'crash':
      process.kill(process.pid, 'SIGKILL');
      return new Promise(() => {});
    case 'work': {
      const until = performance.now() + step.ms;
      while (performance.now() < until && !slice.signal.aborted) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      return { type: 'continue' };
    }
  }
}

async function writeEffect(
  tx: Parameters<NonNullable<SliceResult['effects']>>[0],
  slice: Slice,
  step: number,
) {
  await tx.run(sql`
    insert into probe_effects (tenant_id, job_id, step, worker, epoch)
    values (${slice.job.tenantId}, ${slice.job.jobId}, ${step}, ${String(process.pid)}, ${slice.job.leaseEpoch})`);
}
