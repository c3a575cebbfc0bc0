import type { FilePlace } from '../../kernel/house/doors.ts';
import type { Scheduled } from '../../kernel/schedule/ticks.ts';
import type { ApiPlace, UrlPlace } from './form.ts';

export const pipelineName = 'pulls';
/** How many retries a pull has over all classes of errors. */
export const maxRetries = 6;

export const sourceKinds = ['url', 's3', 'ftp', 'meta', 'google', 'tiktok'] as const;

/** Where reports are. */
export type Place = UrlPlace | ApiPlace | FilePlace;

/** Calendar days of the account, both included. */
export interface DayRange {
  from: string;
  to: string;
}

export interface SourceKey {
  tenantId: string;
  sourceId: string;
}

/** What a tenant sets about a source. */
export interface SourceSettings extends Pick<Scheduled, 'cadenceHours' | 'cron' | 'timeZone'> {
  name: string;
  workspaceId: string;
  clientId: string | null;
  platform: string;
  place: Place;
  restateDays: number;
  enabled: boolean;
}

/** What came of a pull, in words and in numbers. */
export interface PullResult {
  message: string;
  range: DayRange | null;
  /** First uploads of the contents that were new, at most 100. */
  upload_ids: string[];
  /** Contents that were pulled before. */
  unchanged: number;
  /** Files that cannot be a report. */
  refused: number;
}

export interface Source extends SourceKey, SourceSettings, Scheduled {
  nextPullAt: Date;
  lastTickAt: Date;
  /** The plan that `nextPullAt` was computed with. */
  plannedFor: string;
  lastPullAt: Date | null;
  lastSuccessAt: Date | null;
  lastResult: PullResult | null;
  createdBy: string;
  createdAt: Date;
  updatedAt: Date;
}

/** What a path of a source held when it was pulled last. */
export interface TakenContent {
  path: string;
  sizeBytes: number;
  version: string;
  sha256: string;
  jobId: string;
  /** Null: the file was refused, for the reason. */
  uploadId: string | null;
  reason: string | null;
}
