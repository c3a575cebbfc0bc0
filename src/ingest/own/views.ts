import { z } from 'zod';
import type { JobDetails } from '../../kernel/jobs/routes.ts';
import type { Job } from '../../kernel/jobs/types.ts';
import { jsonSchemaOf } from './definitions/schema.ts';
import { ownJob, resultKey } from './pipelines/own-pipeline.ts';
import type { RememberedStep } from './tasks/task-run.ts';
import type { OwnDefinition } from './types.ts';

/** What the step returned is for the task: it may be long, and it may be secret. */
function renderStep({ value: _value, ...step }: RememberedStep) {
  return step;
}

/** What /api/jobs shows of them: the steps of a task, the progress of a pipeline in words, and the result. */
export function detailsOf(definitions: ReadonlyMap<string, OwnDefinition>): JobDetails {
  return async (_tenantId, jobs) => {
    const shown = jobs.flatMap((job) => {
      const definition = definitions.get(job.pipeline);
      return definition ? [[job.jobId, renderOwn(definition, job)] as const] : [];
    });
    return new Map(shown);
  };
}

function renderOwn(definition: OwnDefinition, job: Job): object {
  const { [resultKey]: result, ...checkpoint } = job.checkpoint;
  const more = result === undefined ? {} : { result };
  if (definition.kind === 'task') {
    const steps = (job.checkpoint.steps ?? []) as RememberedStep[];
    return { ...more, kind: 'task', checkpoint: {}, steps: steps.map(renderStep) };
  }
  const progress = progressOf(definition, job);
  return { ...more, kind: 'pipeline', checkpoint, ...(progress === null ? {} : { progress }) };
}

function progressOf(definition: OwnDefinition & { kind: 'pipeline' }, job: Job): string | null {
  try {
    const progress = definition.progress?.(ownJob(job, job.payload.input));
    return progress === undefined ? null : String(progress).slice(0, 500);
  } catch {
    // It is only shown; a job list must not fail over it.
    return null;
  }
}

export const taskReply = z
  .object({
    name: z.string(),
    kind: z.enum(['pipeline', 'task']),
    input_schema: z.record(z.string(), z.unknown()).nullable().describe('JSON Schema, where it can be told'),
    schedule: z.string().nullable().describe('In words; null when it is only dispatched'),
  })
  .meta({ id: 'Task' });

export function renderTask({ name, kind, input, schedule }: OwnDefinition): z.output<typeof taskReply> {
  return {
    name,
    kind,
    input_schema: jsonSchemaOf(input),
    schedule: schedule ? scheduleInWords(schedule) : null,
  };
}

function scheduleInWords({ every, cron, timeZone }: NonNullable<OwnDefinition['schedule']>): string {
  return every === undefined ? `${cron} (${timeZone ?? 'UTC'})` : `every ${every / 1000} s`;
}
