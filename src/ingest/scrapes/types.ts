/** Of crawls. What is handed over becomes a job of the knowledge pipeline. */
export const pipelineName = 'scrapes';
export const ingestionPipeline = 'knowledge';
export const ingestionRetries = 5;
export const crawlRetries = 5;

export const scrapeModes = ['push', 'crawl'] as const;
export type ScrapeMode = (typeof scrapeModes)[number];

export const crawlKinds = ['website', 'sitemap', 'feed'] as const;
export type CrawlKind = (typeof crawlKinds)[number];

export interface SourceKey {
  tenantId: string;
  source: string;
}

export interface SourcePage extends SourceKey {
  after: string | null;
  limit: number;
}

/** The limits of a crawl. */
export interface CrawlSettings {
  maxPages: number;
  maxDepth: number;
  include: string[];
  exclude: string[];
  /** Websites only: also read the pages listed in the sitemap. */
  sitemap: boolean;
}

export interface ScrapeSource extends SourceKey {
  mode: ScrapeMode;
  kind: CrawlKind | null;
  kbId: string;
  url: string | null;
  settings: Partial<CrawlSettings>;
  /** Crawls only: how often it starts by itself; null: only when somebody starts it. */
  everyHours: number | null;
  nextCrawlAt: Date | null;
  createdBy: string;
  createdAt: Date;
  updatedAt: Date;
}

export const runStatuses = ['running', 'completed', 'failed'] as const;
export type RunStatus = (typeof runStatuses)[number];

export interface RunKey {
  tenantId: string;
  scrapeRunId: string;
}

const countNames = [
  ...(['persisted', 'created', 'changed', 'pagesFailed'] as const),
  ...(['queued', 'completed', 'failed', 'skipped'] as const),
];

/** What a sync did; the four hand-off counts add up to the references that it stored. */
export type RunCounts = Record<(typeof countNames)[number], number>;

export const noCounts = Object.fromEntries(countNames.map((name) => [name, 0])) as RunCounts;

export function addCounts(counts: RunCounts, more: Partial<RunCounts>): RunCounts {
  return Object.fromEntries(countNames.map((name) => [name, counts[name] + (more[name] ?? 0)])) as RunCounts;
}

export interface ScrapeRun extends RunKey, RunCounts {
  source: string;
  mode: ScrapeMode;
  status: RunStatus;
  jobId: string | null;
  handoffNotice: string | null;
  isComplete: boolean | null;
  /** Crawls only: the pause between two requests, and how long Retry-After has held the crawl up. */
  delayMs: number | null;
  pausedMs: number | null;
  errorCode: string | null;
  errorText: string | null;
  createdBy: string;
  startedAt: Date;
  finishedAt: Date | null;
  updatedAt: Date;
}

/** A reference as a sync brings it. */
export interface NewReference {
  externalId: string;
  url: string;
  title: string;
  content: string;
  mediaType: string | null;
  metadata: Record<string, unknown>;
  /** About how long the metadata is as JSON; left out where it is short. */
  metadataUnits?: number;
  /** Crawls only. */
  memo: string | null;
}

export interface ScrapeReference extends SourceKey, Omit<NewReference, 'content' | 'memo'> {
  referenceId: string;
  payloadHash: string;
  contentBytes: number;
  scrapeRunId: string;
  goneAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

/** The outcome for one reference of a sync. */
export interface TouchedReference
  extends Pick<ScrapeReference, 'referenceId' | 'externalId' | 'payloadHash'> {
  isCreated: boolean;
  isChanged: boolean;
}

export const handoffStatuses = ['queued', 'running', 'completed', 'failed'] as const;
export type HandoffStatus = (typeof handoffStatuses)[number];

export const handoffReasons = [
  'queued_from_scrape',
  'ingestion_job_queued',
  'ingestion_job_already_active',
  'ingestion_job_running',
  'ingestion_job_completed',
  'ingestion_job_failed',
  'unchanged_payload',
  'retry_exhausted',
  'not_transient',
] as const;
export type HandoffReason = (typeof handoffReasons)[number];

/** A hand-off that waits for a job. */
export interface OpenHandoff {
  handoffId: string;
  referenceId: string;
  scrapeRunId: string;
  kbId: string;
  createdBy: string;
}

export interface Handoff extends SourceKey, OpenHandoff {
  payloadHash: string;
  status: HandoffStatus;
  reasonCode: HandoffReason;
  reasonText: string | null;
  attempts: number;
  jobId: string | null;
  createdAt: Date;
  updatedAt: Date;
}

export interface HandoffPolicy {
  maxAttempts: number;
  retryBaseMs: number;
}

export type { PageText, ReferenceDoor as KnowledgeDoor } from '../../kernel/house/doors.ts';
