import type { ReportConventions } from '../reports/conventions.ts';
import type { ColumnKinds } from '../reports/dimensions/column-kinds.ts';
import type { AdditiveFigures, DateRange, ResumePoint } from '../reports/types.ts';
import type { WarningCount } from '../types.ts';
import { noFigures, type StagingFigures } from './staging.ts';

/** The progress of an upload. It is saved in the transactions that write the rows. */
export interface UploadCheckpoint {
  /** Counts the transactions. If the response to a COMMIT is lost, this shows whether it took effect. */
  step: number;
  /** The mapping that the staged rows were read with. */
  mappingVersion: number;
  /** Where parsing continues; null at the beginning of the file. */
  resume: ResumePoint | null;
  isParsed: boolean;
  figures: StagingFigures;
  /** How ambiguous numbers and dates are read, as far as the rows up to here needed it. */
  conventions: ReportConventions | null;
  /** How far the rows after `resume` were searched for proof of these conventions. */
  lookedUpTo: ResumePoint | null;
  /** What the unread columns are; grows with the headers of a JSON file. */
  kinds: ColumnKinds;
  /** The range of a report without days. */
  range: DateRange | null;
  promotion: {
    entityType: PromotionPhase;
    afterRow: number;
    warnings: WarningCount[];
    /** What production holds of this upload so far, as the database returned it. */
    promoted?: AdditiveFigures;
    /** Figures that were not stored because a newer upload had written them. */
    superseded?: AdditiveFigures;
    supersededRows?: number;
    breakdowns?: number;
  };
}

/** Breakdowns are written before the sums that they prove. */
export const promotionPhases = [
  'campaign',
  'ad_set',
  'ad',
  'breakdown',
  'daily_metric',
  'period_metric',
] as const;
export type PromotionPhase = (typeof promotionPhases)[number];

const start: UploadCheckpoint = {
  step: 0,
  mappingVersion: 0,
  resume: null,
  isParsed: false,
  figures: noFigures,
  conventions: null,
  lookedUpTo: null,
  kinds: {},
  range: null,
  promotion: { entityType: promotionPhases[0], afterRow: -1, warnings: [] },
};

export function checkpointOf(checkpoint: Record<string, unknown>): UploadCheckpoint {
  return { ...structuredClone(start), ...(checkpoint as Partial<UploadCheckpoint>) };
}

/** The checkpoint and counters as the kernel stores them. */
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
