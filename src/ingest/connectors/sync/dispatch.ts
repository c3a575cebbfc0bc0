import { dispatchIn, type JobsDeps } from '../../../kernel/jobs/dispatch/service.ts';
import type { Job } from '../../../kernel/jobs/types.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { type Connector, maxRetries, pipelineName } from '../types.ts';

export interface SyncRequest {
  createdBy: string;
  userId: string | null;
  correlationId?: string | undefined;
  ipAddress?: string | null;
}

/** A sync of this connector as a job; an active one is a 409 that names it. */
export function dispatchSyncIn(
  deps: JobsDeps,
  tx: Tx,
  connector: Connector,
  request: SyncRequest,
): Promise<Job> {
  const { tenantId, connectorId, externalAccountId, airbyteConnectionId, airbyteServer } = connector;
  return dispatchIn(deps, tx, tenantId, {
    pipeline: pipelineName,
    subjectId: connectorId,
    connectorId,
    externalAccountId,
    maxRetries,
    createdBy: request.createdBy,
    userId: request.userId,
    ipAddress: request.ipAddress ?? null,
    // The claim leaves `job.started` to the worker, which knows the run's id.
    // A canceled sync is ended in Airbyte even when its connector has been deleted.
    payload: { airbyteConnectionId, airbyteServer, announcesStart: true },
    ...(request.correlationId === undefined ? {} : { correlationId: request.correlationId }),
  });
}

/** Jobs of older programs got their `job.started` with the claim. */
export function announcesStart({ payload }: Pick<Job, 'payload'>): boolean {
  return payload.announcesStart === true;
}
