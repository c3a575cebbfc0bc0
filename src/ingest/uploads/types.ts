import type { EntityType, FieldProblem, HeaderMapping, Platform } from './reports/types.ts';

export type { EntityKind, EntityType, FactType, HeaderMapping, Platform } from './reports/types.ts';

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

/** All legal moves. */
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

/** The states from which an upload may move to `to`. */
export function statesBefore(to: UploadStatus): UploadStatus[] {
  return uploadStatuses.filter((from) => uploadMoves[from].includes(to));
}

export interface WorkspaceKey {
  tenantId: string;
  workspaceId: string;
}

export interface UploadKey {
  tenantId: string;
  uploadId: string;
}

/** `ownerId` is given for members, who see only their own uploads. */
export interface OwnedUploadKey extends UploadKey {
  ownerId?: string | undefined;
}

/** A kind of warning and the number of lines that have it. */
export interface WarningCount {
  code: string;
  message: string;
  count: number;
}

/** Why an upload must not be promoted before a person has decided. */
export interface Blocker {
  code: string;
  message: string;
  /** The column that it is about. */
  column?: string | undefined;
  /** How many lines it is about. */
  lines?: number | undefined;
}

/** How a file came in. */
export const uploadOrigins = ['request', 'folder', 'adapter', 'pull'] as const;
export type UploadOrigin = (typeof uploadOrigins)[number];

/** The forms that reports are packed in; plain CSV and JSON are stored as they are. */
export const packings = ['zip', 'gzip', 'xlsx'] as const;
type Packing = (typeof packings)[number];

/** How a report was unpacked. Plain JSON: stored with the upload and shown to people. */
export interface Unpacked {
  /** From the outside in: a workbook in an archive is `['zip', 'xlsx']`. */
  from: Packing[];
  /** The name of the file that was sent. */
  archive: string | null;
  /** The place of the report in a ZIP archive. */
  path: string | null;
  /** The sheet of a workbook that was read, and visible ones that were not. */
  sheet: string | null;
  other_sheets: string[];
  /** Whether days of the workbook that are written as numbers count from 1904. */
  is_1904: boolean;
}

/** What intake writes. */
export interface NewUpload extends UploadKey {
  workspaceId: string;
  clientId: string | null;
  platform: Platform;
  /** Of the profile that it is read with; null for platforms that come with Sluice. */
  platformVersion: number | null;
  source: UploadSource;
  origin: UploadOrigin;
  /** The range of a report that names none itself; both or neither. */
  dateFrom: string | null;
  dateTo: string | null;
  filename: string | null;
  /** How the report was unpacked; null when the file came as it is read. */
  unpacked: Unpacked | null;
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
  periodMetricsUpserted: number;
  breakdownsStored: number;
  reconciliation: Reconciliation | null;
  blockers: Blocker[];
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

/** How one additive figure of an upload adds up. Exact decimal texts; null where the file does not state the figure. */
export interface FigureReconciliation {
  /** Over the file's data lines, identical ones once. */
  lines: string | null;
  /** What identical lines would have added. */
  duplicates: string | null;
  /** The file's own total row. */
  total_row: string | null;
  /** What production holds of this upload; null before promotion. */
  promoted: string | null;
  refused: string | null;
  /** Not stored, because a newer upload had stated these figures already. */
  superseded: string | null;
  /** Cells that could not be read; no sum contains them. */
  unreadable: number;
  agrees: boolean;
  /** Where the sums differ, in a sentence. */
  difference: string | null;
}

export interface Reconciliation {
  /** Whether all figures agree. */
  agrees: boolean;
  figures: Record<string, FigureReconciliation>;
}

/**
 * Whether a held upload is being read again because its mapping was changed. Until then its rows and figures are those
 * of the previous mapping. The layout records which mapping the file was read with.
 */
export function isBeingChecked({ status, review, layout, mappingVersion }: Upload): boolean {
  return status === 'staging_complete' && review && (layout?.mapping_version ?? 0) !== mappingVersion;
}

export interface StagedRow {
  rowIndex: number;
  entityType: EntityType;
  naturalKeyHash: string;
  rawData: Record<string, unknown>;
  /** The line of the file, from 1; null for rows that older versions staged. */
  line: number | null;
  validationStatus: 'pending' | 'valid' | 'invalid';
  validationErrors: FieldProblem[] | null;
  promotionError: { code: string; message: string } | null;
  promotionWarning: { code: string; message: string } | null;
}

/** For smaller uploads, ANALYZE would cost more than better query plans save. */
export function isWorthStatistics({ validRows }: Pick<Upload, 'validRows'>): boolean {
  return validRows >= 5_000;
}

/** How many uploads of a workspace may be processed at once. */
export const slotsPerWorkspace = 3;

/** Below this percentage of valid rows an upload is not promoted, unless `force_partial` is set. */
export const validPercentNeeded = 90;

/** What an account spent on a day in one currency; spend as an exact decimal text. */
export interface DaySpend {
  day: string;
  currency: string | null;
  spend: string;
}
