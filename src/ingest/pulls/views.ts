import { z } from 'zod';
import { timestamp } from '../../kernel/http/replies.ts';
import type { Job } from '../../kernel/jobs/types.ts';
import { hideNames } from '../../kernel/secrets/hide-names.ts';
import type { SeesName } from '../../kernel/secrets/types.ts';
import { toSnakeCase } from '../../lib/snake-case.ts';
import type { LastPull } from './store.ts';
import { type Source, sourceKinds } from './types.ts';

const resultReply = z.object({
  message: z.string().describe('What came of the last pull'),
  range: z.object({ from: z.string(), to: z.string() }).nullable().describe('The days it asked for'),
  upload_ids: z.array(z.uuid()).describe('At most 100 uploads that it made'),
  unchanged: z.int().describe('Contents that were pulled before'),
  refused: z.int().describe('Files that are no reports'),
});

export const sourceReply = z
  .object({
    source_id: z.uuid(),
    name: z.string(),
    workspace_id: z.uuid(),
    client_id: z.uuid().nullable(),
    platform: z.string(),
    place: z
      .looseObject({ kind: z.enum(sourceKinds) })
      .describe('As it was created; names of secrets that the caller may not use are null'),
    restate_days: z.int(),
    enabled: z.boolean(),
    cadence_hours: z.number().nullable(),
    cron: z.string().nullable(),
    time_zone: z.string(),
    next_pull_at: timestamp.nullable().describe('Null: pulled only on request'),
    state: z.enum(['new', 'pulling', 'waiting', 'ok', 'failing']),
    last_pull_at: timestamp.nullable(),
    last_success_at: timestamp.nullable(),
    last_result: resultReply.nullable(),
    last_job_id: z.uuid().nullable(),
    last_error: z.string().nullable(),
    last_error_code: z.string().nullable(),
    next_retry_at: timestamp.nullable(),
    created_by: z.string(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'UploadSource' });

export function renderSource(
  source: Source,
  { sees, last }: { sees: SeesName; last?: LastPull | undefined },
): z.output<typeof sourceReply> {
  const { tenantId: _, place, jitter: _j, lastTickAt: _t, plannedFor: _p, plan: _n, ...shown } = source;
  const isFailing = last?.status === 'failed' || last?.status === 'dead_letter';
  return {
    ...toSnakeCase(shown),
    place: hideNames(place, sees),
    next_pull_at: source.enabled ? source.nextPullAt.toISOString() : null,
    state: stateOf(source, last),
    last_job_id: last?.jobId ?? null,
    last_error: isFailing ? last.errorMessage : null,
    last_error_code: isFailing ? last.errorCode : null,
    next_retry_at: last?.status === 'failed' ? (last.nextRetryAt?.toISOString() ?? null) : null,
  };
}

function stateOf(source: Source, last: LastPull | undefined): z.output<typeof sourceReply>['state'] {
  switch (last?.status) {
    case 'queued':
    case 'paused':
      return 'waiting';
    case 'running':
      return 'pulling';
    case 'failed':
    case 'dead_letter':
      return 'failing';
    default:
      return source.lastPullAt === null ? 'new' : 'ok';
  }
}

export const pullReply = z
  .object({
    job_id: z.uuid(),
    source_id: z.uuid(),
    status: z.string(),
    created_at: timestamp,
  })
  .meta({ id: 'UploadPull' });

export function renderPull({ jobId, subjectId, status, createdAt }: Job): z.output<typeof pullReply> {
  return { job_id: jobId, source_id: subjectId, status, created_at: createdAt.toISOString() };
}
