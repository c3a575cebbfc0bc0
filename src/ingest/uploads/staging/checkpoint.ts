import type { ReportConventions } from '../reports/conventions.ts';
import { type EntityType, entityTypes, type ResumePoint } from '../reports/types.ts';
import type { WarningCount } from '../types.ts';
import { noFigures, type StagingFigures } from './staging.ts';

/** How far an upload has come; it moves in the transactions that write the rows. */
export interface UploadCheckpoint {
  /** Counts the transactions: after a COMMIT without an answer it tells whether the last one took effect. */
  step: number;
  /** Which mapping the staged rows were made with. */
  mappingVersion: number;
  /** Where parsing goes on; null at the beginning of the file. */
  resume: ResumePoint | null;
  isParsed: boolean;
  figures: StagingFigures;
  /** How the file writes what can be read in two ways, as far as the rows up to here needed it. */
  conventions: ReportConventions | null;
  /** Up to where the rows after `resume` were looked through for what these conventions do not prove yet. */
  lookedUpTo: ResumePoint | null;
  promotion: { entityType: EntityType; afterRow: number; warnings: WarningCount[] };
}

const start: UploadCheckpoint = {
  step: 0,
  mappingVersion: 0,
  resume: null,
  isParsed: false,
  figures: noFigures,
  conventions: null,
  lookedUpTo: null,
  promotion: { entityType: entityTypes[0], afterRow: -1, warnings: [] },
};

export function checkpointOf(checkpoint: Record<string, unknown>): UploadCheckpoint {
  return { ...structuredClone(start), ...(checkpoint as Partial<UploadCheckpoint>) };
}

/** As the kernel keeps it. */
export function stateOf(checkpoint: UploadCheckpoint): {
  checkpoint: Record<string, unknown>;
  counters: Record<string, number>;
} {
  const { totalRows, validRows, invalidRows } = checkpoint.figures;
  return {
    checkpoint: { ...checkpoint },
    counters: { total_rows: totalRows, valid_rows: validRows, invalid_rows: invalidRows },
  };
}
