import { fileErrors } from '../../../kernel/files/errors.ts';
import type { Job } from '../../../kernel/jobs/types.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { type IngestDeps, ingestFile } from './ingest.ts';

export interface IntakeFile {
  tenantId: string;
  userId: string;
  processor: string | null;
  options: unknown;
  fileName: string | null;
  content: AsyncIterable<Uint8Array>;
  /** Runs in the transaction that makes the job visible. */
  beforeCommit?: (tx: Tx, job: Job) => Promise<void>;
}

/** The way in for files that do not come with a request. */
export interface ItemIntake {
  maxBytes: number;
  /** Throws what would be wrong with every file: an unknown processor, wrong options, an ingest that is off. */
  check(wanted: Pick<IntakeFile, 'processor' | 'options'>): void;
  ingest(file: IntakeFile): Promise<Job>;
}

export function itemIntake(
  deps: IngestDeps & { ingestEnabled: boolean; maxUploadBytes: number },
): ItemIntake {
  return {
    maxBytes: deps.maxUploadBytes,
    check: ({ processor, options }) => {
      if (!deps.ingestEnabled) {
        throw fileErrors.raise.ingest_disabled('DB_INGEST_ENABLED is false on this server');
      }
      // Without a name, each file gets the default processor for its type, which needs no options.
      if (processor !== null) deps.processors.get(processor).validateOptions(options);
    },
    ingest: ({ tenantId, userId, processor, options, fileName, content, beforeCommit }) => {
      const request = {
        tenantId,
        userId,
        ipAddress: null,
        fields: () => ({ processor, options, sheet: null }),
        file: { fileName, mediaType: null, content },
        more: async () => null,
      };
      return ingestFile(deps, request, ({ reveal }) => reveal(beforeCommit));
    },
  };
}
