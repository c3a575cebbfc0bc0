import { fileErrors } from '../../../kernel/files/errors.ts';
import type { FileDoor, RowsTarget } from '../../../kernel/house/doors.ts';
import type { Job } from '../../../kernel/jobs/types.ts';
import type { Role } from '../../../kernel/tenancy/types.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { assertSecrets } from './choose-processor.ts';
import { type IngestDeps, ingestFile } from './ingest.ts';
import { plainReading } from './reading.ts';

/** Files without a request come from adapters. Who may configure one may use every secret. */
const role: Role = 'admin';

/** The way in for files that do not come with a request. */
export function itemDoor(
  deps: IngestDeps & { ingestEnabled: boolean; maxUploadBytes: number },
): FileDoor<RowsTarget> {
  return {
    maxBytes: deps.maxUploadBytes,
    check: async (tenantId, { processor: name, options: given }) => {
      if (!deps.ingestEnabled) {
        throw fileErrors.raise.ingest_disabled('DB_INGEST_ENABLED is false on this server');
      }
      // Without a name, each file gets the default processor for its type, which needs no options.
      if (name === null) return;
      const processor = deps.processors.get(name);
      const options = processor.validateOptions(given);
      await assertSecrets(deps.secrets, { tenantId, role, processor, options });
    },
    takeIn: async ({ target: { processor, options }, tenantId, userId, fileName, content, record }) => {
      const request = {
        tenantId,
        userId,
        role,
        ipAddress: null,
        signal: null,
        fields: () => ({ processor, options, sheet: null, reading: plainReading }),
        file: { fileName, mediaType: null, content },
        more: async () => null,
      };
      const recorded = (tx: Tx, { jobId }: Job) => record(tx, { jobId, uploadId: null });
      await ingestFile(deps, request, ({ reveal }) => reveal(recorded));
    },
  };
}
