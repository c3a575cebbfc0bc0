import type { FileDoor, RowsTarget } from '../../../kernel/house/doors.ts';
import { itemErrors } from '../errors.ts';
import { type IngestDeps, ingestFile } from './ingest.ts';

/** The way in for files that do not come with a request. */
export function itemDoor(
  deps: IngestDeps & { ingestEnabled: boolean; maxUploadBytes: number },
): FileDoor<RowsTarget> {
  return {
    maxBytes: deps.maxUploadBytes,
    check: async (_tenantId, { processor, options }) => {
      if (!deps.ingestEnabled) {
        throw itemErrors.raise.ingest_disabled('DB_INGEST_ENABLED is false on this server');
      }
      // Without a name it is the usual one for what each file turns out to be, and those need no options.
      if (processor !== null) deps.processors.get(processor).validateOptions(options);
    },
    takeIn: async ({ target: { processor, options }, tenantId, userId, fileName, content, record }) => {
      await ingestFile(deps, {
        ...{ tenantId, userId, processor, options, fileName, content, ipAddress: null, declaredType: null },
        beforeCommit: (tx, { jobId }) => record(tx, { jobId, uploadId: null }),
      });
    },
  };
}
