import type { EntityType, FieldProblem, HeaderMapping, Platform } from './reports/types.ts';

export type { EntityKind, EntityType, HeaderMapping, Platform } from './reports/types.ts';

export const pipelineName = 'uploads';

export const uploadSources = ['manual', 'api', 'webhook'] as const;
export type UploadSource = (typeof uploadSources)[number];

export const uploadStatuses = [
  'pending',
  'processing',
  'staging_complete',
  'promoting',
  'completed',
  'partial',
  'failed',
] as const;
export type UploadStatus = (typeof uploadStatuses)[number];

/** Every legal move and no other. */
const uploadMoves: Record<UploadStatus, readonly UploadStatus[]> = {
  pending: ['processing', 'failed'],
  processing: ['staging_complete', 'failed'],
  staging_complete: ['promoting', 'failed'],
  promoting: ['completed', 'partial', 'failed'],
  completed: [],
  partial: [],
  failed: [],
};

export function isFinished(status: UploadStatus): boolean {
  return uploadMoves[status].length === 0;
}

/** The states from which `to` may be reached. */
export function statesBefore(to: UploadStatus): UploadStatus[] {
  return uploadStatuses.filter((from) => uploadMoves[from].includes(to));
}

export interface UploadKey {
  tenantId: string;
  uploadId: string;
}

/** An upload as its caller may see it: `ownerId` is given for members, who see only their own. */
export interface OwnedUploadKey extends UploadKey {
  ownerId?: string | undefined;
}

/** A kind of warning and how many lines had it. */
export interface WarningCount {
  code: string;
  message: string;
  count: number;
}

/** What intake writes. */
export interface NewUpload extends UploadKey {
  workspaceId: string;
  clientId: string | null;
  platform: Platform;
  source: UploadSource;
  filename: string | null;
  fileId: string;
  fileUrl: string;
  forcePartial: boolean;
  review: boolean;
  mapping: HeaderMapping;
  jobId: string;
  createdBy: string;
  userId: string;
}

export interface Upload extends NewUpload {
  status: UploadStatus;
  mappingVersion: number;
  rowCount: number | null;
  totalRows: number;
  validRows: number;
  invalidRows: number;
  promotedRows: number;
  failedRows: number;
  campaignsUpserted: number;
  adSetsUpserted: number;
  adsUpserted: number;
  dailyMetricsUpserted: number;
  affectedDates: string[];
  warnings: WarningCount[];
  layout: Record<string, unknown> | null;
  errorCode: string | null;
  errorText: string | null;
  eventEmitted: boolean;
  createdAt: Date;
  updatedAt: Date;
  finishedAt: Date | null;
  undoneAt: Date | null;
}

/**
 * Whether an upload that is held is being read again, because its mapping was changed: rows and figures are not those
 * of its mapping yet. The layout says which mapping the file was read with last.
 */
export function isBeingChecked({ status, review, layout, mappingVersion }: Upload): boolean {
  return status === 'staging_complete' && review && (layout?.mapping_version ?? 0) !== mappingVersion;
}

export interface StagedRow {
  rowIndex: number;
  entityType: EntityType;
  naturalKeyHash: string;
  rawData: Record<string, unknown>;
  validationStatus: 'pending' | 'valid' | 'invalid';
  validationErrors: FieldProblem[] | null;
  promotionError: { code: string; message: string } | null;
  promotionWarning: { code: string; message: string } | null;
}

/** Staged rows that one transaction promotes. */
export const promotionBatchRows = 1_000;

/** Below this the planner cannot go far wrong, and counting would cost more than it saves. */
export function isWorthStatistics({ validRows }: Pick<Upload, 'validRows'>): boolean {
  return validRows >= 5_000;
}

/** How many uploads of a workspace may be at work at once. */
export const slotsPerWorkspace = 3;

/** Below this percentage of valid rows an upload is not promoted, unless its sender insists. */
export const validPercentNeeded = 90;
