import type { Job } from '../../../kernel/jobs/types.ts';
import { itemErrors } from '../errors.ts';
import { type IngestDeps, ingestFile, type NewItemJob } from './ingest.ts';

/** The way in for files that do not come with a request. */
export interface ItemIntake {
  maxBytes: number;
  /** Throws what would be wrong with every file: an unknown processor, wrong options, an ingest that is off. */
  check(wanted: Pick<NewItemJob, 'processor' | 'options'>): void;
  ingest(file: NewItemJob): Promise<Job>;
}

export function itemIntake(
  deps: IngestDeps & { ingestEnabled: boolean; maxUploadBytes: number },
): ItemIntake {
  return {
    maxBytes: deps.maxUploadBytes,
    check: ({ processor, options }) => {
      if (!deps.ingestEnabled) {
        throw itemErrors.raise.ingest_disabled('DB_INGEST_ENABLED is false on this server');
      }
      // Without a name it is the usual one for what each file turns out to be, and those need no options.
      if (processor !== null) deps.processors.get(processor).validateOptions(options);
    },
    ingest: (file) => ingestFile(deps, file),
  };
}
