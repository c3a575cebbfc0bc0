import { dispatchIn, type JobsDeps } from '../../kernel/jobs/dispatch/service.ts';
import type { Job } from '../../kernel/jobs/types.ts';
import type { Tx } from '../../lib/postgres/db.ts';
import { type DayRange, maxRetries, pipelineName, type Source } from './types.ts';

export interface PullRequest {
  createdBy: string;
  userId: string | null;
  /** Other days than the last ones. */
  range?: DayRange | undefined;
  ipAddress?: string | null;
}

/** A pull of this source as a job; an active one is a 409 that names it. */
export function dispatchPullIn(deps: JobsDeps, tx: Tx, source: Source, request: PullRequest): Promise<Job> {
  const { tenantId, sourceId, workspaceId } = source;
  return dispatchIn(deps, tx, tenantId, {
    pipeline: pipelineName,
    subjectId: sourceId,
    workspaceId,
    maxRetries,
    createdBy: request.createdBy,
    userId: request.userId,
    ipAddress: request.ipAddress ?? null,
    payload: request.range === undefined ? {} : { range: request.range },
  });
}
