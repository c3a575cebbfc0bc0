// Written by `npm run generate` from openapi.json. Change the routes of the server, not this file.

export interface Ad {
  ad_id: string;
  campaign_id: string | null;
  campaign_external_id: string | null;
  campaign_name: string | null;
  ad_set_id: string | null;
  ad_set_external_id: string | null;
  ad_set_name: string | null;
  workspace_id: string;
  client_id: string | null;
  platform: string;
  created_by_upload: string;
  last_upload: string;
  created_at: string;
  updated_at: string;
  external_id: string;
  /** The report had no ids, so the external id is a path of names */
  is_name_key: boolean;
  name: string | null;
  status: string | null;
}

export interface AdSet {
  ad_set_id: string;
  campaign_id: string | null;
  campaign_external_id: string | null;
  campaign_name: string | null;
  workspace_id: string;
  client_id: string | null;
  platform: string;
  created_by_upload: string;
  last_upload: string;
  created_at: string;
  updated_at: string;
  external_id: string;
  /** The report had no ids, so the external id is a path of names */
  is_name_key: boolean;
  name: string | null;
  status: string | null;
}

export interface Adapter {
  name: string;
  kind: 'folder' | 's3' | 'ftp';
  path?: string;
  endpoint?: string | null;
  region?: string;
  bucket?: string;
  prefix?: string;
  path_style?: boolean;
  /** Null: one that you may not use */
  access_key_id_secret?: string | null;
  /** Null: one that you may not use */
  secret_access_key_secret?: string | null;
  host?: string;
  port?: number;
  user?: string;
  /** Null: one that you may not use */
  password_secret?: string | null;
  tls?: boolean;
  ca_certificate?: string | null;
  target: {
    kind: 'items' | 'uploads';
    processor?: string | null;
    options?: Record<string, unknown>;
    platform?: string;
    workspace_id?: string;
  };
  pattern: string | null;
  every_minutes: number | null;
  after: 'leave' | 'move';
  settle_seconds: number;
  state: 'new' | 'scanning' | 'ok' | 'failing';
  scanning_by: string | null;
  next_scan_at: string | null;
  last_scan_at: string | null;
  last_success_at: string | null;
  last_result: {
    seen: number;
    ingested: number;
    duplicates: number;
    waiting: number;
    failed: number;
    moved: number;
  } | null;
  last_error: string | null;
  last_error_code: string | null;
  failures_in_row: number;
  files: {
    waiting: number;
    ingested: number;
    duplicate: number;
    failed: number;
  };
  created_by: string;
  created_at: string;
  updated_at: string;
}

export interface AdapterCheck {
  ok: boolean;
  /** Up to five names that a scan would read */
  files: string[];
  error_code: string | null;
  /** What is wrong */
  error: string | null;
}

export interface AdapterFile {
  file_id: string;
  adapter: string;
  path: string;
  size_bytes: number;
  /** The modification time or etag that the place reports */
  version: string;
  sha256: string | null;
  state: 'waiting' | 'ingested' | 'duplicate' | 'failed';
  reason_code: string | null;
  reason: string | null;
  attempts: number;
  jobId: string | null;
  uploadId: string | null;
  duplicate_of: string | null;
  moved_to: string | null;
  found_at: string;
  last_seen_at: string;
  finished_at: string | null;
}

export interface AdapterScan {
  adapter: string;
  /** Another scan is running; nothing was done */
  busy: boolean;
  scanning_by: string | null;
  /** False: there is more to do, and the next scan continues */
  complete: boolean;
  seen: number;
  ingested: number;
  duplicates: number;
  waiting: number;
  failed: number;
  moved: number;
  error_code: string | null;
  error: string | null;
  files: {
    path: string;
    outcome: 'ingested' | 'duplicate' | 'waiting' | 'failed' | 'not_moved';
    reason: string | null;
    file_id: string;
    jobId: string | null;
    uploadId: string | null;
  }[];
}

export interface AirbyteConnection {
  airbyte_connection_id: string;
  name: string;
  status: string;
  /** Should be manual: otherwise Airbyte’s scheduler competes with ours */
  schedule_type: string | null;
  source_id: string | null;
  destination_id: string | null;
  enrolled_as: {
    tenant_id: string;
    connector_id: string;
  } | null;
}

export interface AirbyteFinding {
  state: 'ok' | 'not_configured' | 'wrong_address' | 'credentials_refused' | 'workspace_unknown' | 'unreachable';
  message: string;
  remedy: string;
}

export interface AirbyteServer {
  server: string;
  base_url: string;
  auth: 'token' | 'client' | 'basic';
  identity: string | null;
  /** Null for those who may not use it */
  secret: string | null;
  workspace_id: string | null;
  created_by: string;
  created_at: string;
  updated_at: string;
}

export interface ApiKey {
  key_id: string;
  name: string;
  role: 'member' | 'admin' | 'support' | 'service' | 'operator';
  /** The first characters of the key */
  key_hint: string;
  /** A user, or `api_key:` and the id of another key */
  created_by: string;
  /** The user behind the key: who made it, or who made the key that made it */
  user_id: string;
  /** Refused for as long as that user is disabled */
  suspended: boolean;
  suspended_because: string | null;
  /** Belongs to an operator: only an operator can revoke it */
  operator_only: boolean;
  created_at: string;
  expires_at: string | null;
  /** To the minute */
  last_used_at: string | null;
  revoked_at: string | null;
}

export interface Campaign {
  campaign_id: string;
  workspace_id: string;
  client_id: string | null;
  platform: string;
  created_by_upload: string;
  last_upload: string;
  created_at: string;
  updated_at: string;
  external_id: string;
  /** The report had no ids, so the external id is a path of names */
  is_name_key: boolean;
  name: string | null;
  status: string | null;
  type: string | null;
}

export interface Catalog {
  name: string;
  /** Starts at 1 and grows with each replacement */
  version: number;
  productCount: number;
  /** Rows of the file that have neither a SKU nor a title */
  skippedCount: number;
  columns: string[];
  /** Which column of the file is which field */
  fields: {
    sku: string | null;
    brand: string | null;
    title: string | null;
    gtin: string | null;
  };
  fileName: string | null;
  updatedBy: string;
  createdAt: string;
  updatedAt: string;
}

export interface CatalogMatches {
  version: number;
  matches: {
    status: 'DONE' | 'NOT_FOUND';
    /** The strategy that found the product, else the last one that saw candidates, else the last one tried */
    strategy: 'sku' | 'brand_title' | 'fuzzy_title';
    score: number | null;
    product: Record<string, unknown> | null;
    reason: string | null;
    candidates: {
      sku: string | null;
      brand: string | null;
      title: string | null;
      score: number;
    }[];
  }[];
}

export interface ComparedKnowledgeEvaluation {
  evaluation_id: string;
  /** The build of the index that was asked */
  generation: number;
  mode: 'vector' | 'text' | 'hybrid';
  k: number;
  questions: number;
  /** Share of the relevant documents among the first k, mean over the questions */
  recall: number;
  ndcg: number;
  /** Mean of 1 / place of the first relevant document */
  mrr: number;
  created_at: string;
  /** The last evaluation of an earlier generation, if there is one */
  earlier: KnowledgeEvaluation | null;
  worse: {
    query: string;
    before: {
      query: string;
      /** Place of the first relevant document; null: not among the first k */
      rank: number | null;
      recall: number;
      ndcg: number;
    };
    now: {
      query: string;
      /** Place of the first relevant document; null: not among the first k */
      rank: number | null;
      recall: number;
      ndcg: number;
    };
  }[];
  /** How many questions are answered better */
  better: number;
  scores: {
    query: string;
    /** Place of the first relevant document; null: not among the first k */
    rank: number | null;
    recall: number;
    ndcg: number;
  }[];
}

export interface Connector {
  connector_id: string;
  tenant_id: string;
  name: string;
  airbyte_connection_id: string;
  /** Null: the one of this installation */
  airbyte_server: string | null;
  external_account_id: string;
  enabled: boolean;
  /** The effective one: as configured, but never below the plan’s minimum */
  cadence_hours: number;
  configured_cadence_hours: number | null;
  cron: string | null;
  time_zone: string;
  min_interval_seconds: number | null;
  on_active_sync: 'adopt' | 'fail' | 'skip';
  next_sync_at: string | null;
  last_sync: {
    job_id: string;
    status: string;
    finished_at: string | null;
    error_message: string | null;
    waiting_for: string | null;
  } | null;
  created_by: string;
  created_at: string;
  updated_at: string;
}

export interface ConnectorStatus {
  configured: boolean;
  /** Settings that have to be set */
  missing: string[];
  /** Shown to administrators only */
  base_url: string | null;
  enrolment: 'open' | 'operator';
  airbyte: {
    /** closed: syncs run; open: they wait */
    state: 'closed' | 'open' | 'probing';
    reason: string | null;
    since: string | null;
    next_try_at: string | null;
    /** What a request to Airbyte has just shown */
    check: {
      state: 'ok' | 'not_configured' | 'wrong_address' | 'credentials_refused' | 'workspace_unknown' | 'unreachable';
      /** Shown to administrators only: it may name hosts */
      message: string | null;
      remedy: string | null;
      checked_at: string;
    };
    /** What Airbyte last said about its rate limit, to any process */
    rate_limit: {
      headers: Record<string, string>;
      status: number;
      said_at: string;
    } | null;
  };
  /** For Airbyte’s notifications; shown to the operator only */
  webhook_path: string | null;
}

export interface Correction {
  itemId: string;
  rowNo: number;
  column: string;
  /** JSON text; null: the row did not have the column */
  oldValue: string | null;
  /** JSON text */
  newValue: string;
  userId: string;
  createdAt: string;
}

export interface CreatedApiKey {
  key_id: string;
  name: string;
  role: 'member' | 'admin' | 'support' | 'service' | 'operator';
  /** The first characters of the key */
  key_hint: string;
  /** A user, or `api_key:` and the id of another key */
  created_by: string;
  /** The user behind the key: who made it, or who made the key that made it */
  user_id: string;
  /** Refused for as long as that user is disabled */
  suspended: boolean;
  suspended_because: string | null;
  /** Belongs to an operator: only an operator can revoke it */
  operator_only: boolean;
  created_at: string;
  expires_at: string | null;
  /** To the minute */
  last_used_at: string | null;
  revoked_at: string | null;
  /** Shown only once; only its hash is stored */
  key: string;
}

export interface DailyMetric {
  metric_id: number;
  metric_date: string;
  workspace_id: string;
  client_id: string | null;
  platform: string;
  created_by_upload: string;
  last_upload: string;
  created_at: string;
  updated_at: string;
  campaign_id: string | null;
  campaign_external_id: string | null;
  campaign_name: string | null;
  ad_set_id: string | null;
  ad_set_external_id: string | null;
  ad_set_name: string | null;
  ad_id: string | null;
  ad_external_id: string | null;
  ad_name: string | null;
  impressions: number | null;
  /** All clicks */
  clicks: number | null;
  /** Clicks on the link of the ad */
  link_clicks: number | null;
  /** Null where lines were added up: people cannot be */
  reach: number | null;
  spend: number | null;
  conversions: number | null;
  conversion_value: number | null;
  currency: string | null;
}

export interface DeadLetter {
  job_id: string;
  /** What people call it: the file, the base, the connector */
  name: string;
  tenant_id: string;
  pipeline: string;
  subject_id: string;
  connector_id: string | null;
  external_account_id: string | null;
  status: 'queued' | 'running' | 'paused' | 'failed' | 'dead_letter' | 'success' | 'canceled';
  retry_count: number;
  run_id: string | null;
  correlation_id: string;
  error_code: string | null;
  error_message: string | null;
  next_retry_at: string | null;
  requeued_from: string | null;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
}

export interface EnrolledConnector {
  connector_id: string;
  tenant_id: string;
  name: string;
  airbyte_connection_id: string;
  /** Null: the one of this installation */
  airbyte_server: string | null;
  external_account_id: string;
  enabled: boolean;
  /** The effective one: as configured, but never below the plan’s minimum */
  cadence_hours: number;
  configured_cadence_hours: number | null;
  cron: string | null;
  time_zone: string;
  min_interval_seconds: number | null;
  on_active_sync: 'adopt' | 'fail' | 'skip';
  next_sync_at: string | null;
  last_sync: {
    job_id: string;
    status: string;
    finished_at: string | null;
    error_message: string | null;
    waiting_for: string | null;
  } | null;
  created_by: string;
  created_at: string;
  updated_at: string;
  /** What Airbyte says about the connection */
  warnings: {
    code: string;
    message: string;
  }[];
}

/** A CloudEvents 1.0 envelope */
export interface Event {
  specversion: '1.0';
  id: string;
  source: string;
  type: string;
  subject: string;
  time: string;
  datacontenttype: 'application/json';
  data: Record<string, unknown>;
  tenantid: string;
  correlationid?: string;
}

export interface FailureGroup {
  status: 'PENDING' | 'PROCESSING' | 'DONE' | 'ERROR' | 'NOT_FOUND' | 'SKIPPED';
  errorCode: string | null;
  count: number;
  firstRowNo: number;
  /** The reason of one of the rows */
  example: string | null;
  title: string;
  /** What to do about it */
  next: string;
  /** Whether trying again can help when nothing else has changed */
  canRetry: boolean;
}

export interface FigureGroup {
  currency: string | null;
  date_from: string;
  date_to: string;
  /** How many stored rows were added up */
  rows: number;
  impressions: number | null;
  clicks: number | null;
  link_clicks: number | null;
  spend: number | null;
  conversions: number | null;
  conversion_value: number | null;
  /** The day, the Monday of the week, the month as 2026-03, the range, the platform or the id */
  key: string | null;
  name: string | null;
  external_id: string | null;
  campaign_name: string | null;
  ad_set_name: string | null;
  /** Where to read the stored rows, uploads and lines behind these sums */
  lineage: string;
}

export interface FigureLineage {
  metric_id: number;
  workspace_id: string;
  client_id: string | null;
  platform: string;
  date_from: string;
  date_to: string;
  campaign_id: string | null;
  campaign_external_id: string | null;
  campaign_name: string | null;
  ad_set_id: string | null;
  ad_set_external_id: string | null;
  ad_set_name: string | null;
  ad_id: string | null;
  ad_external_id: string | null;
  ad_name: string | null;
  impressions: number | null;
  clicks: number | null;
  link_clicks: number | null;
  spend: number | null;
  conversions: number | null;
  conversion_value: number | null;
  currency: string | null;
  /** The upload that gave the row its values */
  upload_id: string;
  /** Null for an upload that you may not see */
  filename: string | null;
  uploaded_at: string | null;
  /** The first 100 lines that were added up; empty for rows that older versions stored */
  lines: {
    upload_id: string;
    line: number;
  }[];
  line_count: number;
}

export interface FigureReconciliation {
  /** Over the data lines of the file, identical ones once */
  lines: string | null;
  /** What identical lines would have added */
  duplicates: string | null;
  /** The file’s own total row; null when it has none */
  total_row: string | null;
  /** What production holds of it; null before promotion */
  promoted: string | null;
  refused: string | null;
  /** Not stored, because a newer upload had stated it already */
  superseded: string | null;
  /** Cells that could not be read; no sum contains them */
  unreadable: number;
  agrees: boolean;
  /** Where the sums differ */
  difference: string | null;
}

export interface FigureTotal {
  currency: string | null;
  date_from: string;
  date_to: string;
  /** How many stored rows were added up */
  rows: number;
  impressions: number | null;
  clicks: number | null;
  link_clicks: number | null;
  spend: number | null;
  conversions: number | null;
  conversion_value: number | null;
}

export interface FilePreview {
  fileName: string | null;
  format: string;
  delimiter: string | null;
  encoding: string | null;
  headerLine: number | null;
  sheet: string | null;
  sheets: string[];
  rowCount: number;
  fileColumns: string[] | null;
  columns: {
    name: string;
    type: 'empty' | 'boolean' | 'integer' | 'number' | 'date' | 'url' | 'email' | 'text';
    filled: number;
    samples: string[];
  }[];
  notes: RowNote[];
  /** The first 20 rows, as the job would store them */
  rows: Record<string, unknown>[];
}

export interface IngestionHandoff {
  handoff_id: string;
  reference_id: string;
  payload_hash: string;
  status: 'queued' | 'running' | 'completed' | 'failed';
  reason_code: 'queued_from_scrape' | 'ingestion_job_queued' | 'ingestion_job_already_active' | 'ingestion_job_running' | 'ingestion_job_completed' | 'ingestion_job_failed' | 'unchanged_payload' | 'retry_exhausted' | 'not_transient';
  reason_text: string | null;
  attempts: number;
  job_id: string | null;
  kb_id: string;
  scrape_run_id: string;
  created_at: string;
  updated_at: string;
}

export interface Invitation {
  user_id: string;
  role: 'member' | 'admin' | 'support' | 'service' | 'operator';
  /** Give it to the person: it logs its holder in, once. It is shown here and never again */
  url: string;
  expires_at: string;
}

export interface ItemJob {
  jobId: string;
  /** What people call it: the file, the base, the connector */
  name: string;
  pipeline: string;
  subjectId: string;
  workspaceId: string | null;
  status: 'queued' | 'running' | 'paused' | 'failed' | 'dead_letter' | 'success' | 'canceled';
  queueState: 'QUEUED' | 'RUNNING' | 'PAUSED' | 'DONE' | 'FAILED';
  stage: string | null;
  runAt: string;
  nextRetryAt: string | null;
  retryCount: number;
  maxRetries: number;
  runId: string | null;
  correlationId: string;
  errorCode: string | null;
  errorMessage: string | null;
  checkpoint: Record<string, unknown>;
  counters: Record<string, number>;
  leasedBy: string | null;
  heartbeatAt: string | null;
  cleanupOpen: boolean;
  requeuedFrom: string | null;
  createdBy: string;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
  updatedAt: string;
  jobType: 'csv' | 'image';
  processor: string;
  fileName: string | null;
  /** The record of the file of rows; null for images, which have one each */
  fileId: string | null;
  /** What the file of rows was; its bytes are not kept */
  file?: {
    mediaType: string;
    sizeBytes: number;
    sha256: string;
  };
  /** The columns of the file */
  columns: string[];
  /** Keys of the results so far; they are columns of the grid and of exports */
  resultColumns: string[];
  totalItems: number;
  processedItems: number;
  failedItems: number;
  counts: {
    PENDING: number;
    PROCESSING: number;
    DONE: number;
    ERROR: number;
    NOT_FOUND: number;
    SKIPPED: number;
  };
  /** What was repaired while the file was read, with the first places of each */
  notes: RowNote[];
  /** File column → column of the job, or null if it was left out */
  mapping: Record<string, string | null> | null;
  /** What the controllers decided last, and why */
  controllers: {
    ingest?: {
      reason: string;
      [name: string]: unknown;
    };
    claim?: {
      reason: string;
      [name: string]: unknown;
    };
    providers?: {
      reason: string;
      [name: string]: unknown;
    }[];
    [name: string]: unknown;
  };
  [name: string]: unknown;
}

export interface ItemTemplate {
  name: string;
  processor: string;
  options: Record<string, unknown>;
  mapping: Record<string, string | null> | null;
  updatedBy: string;
  updatedAt: string;
}

export interface Job {
  jobId: string;
  /** What people call it: the file, the base, the connector */
  name: string;
  pipeline: string;
  subjectId: string;
  workspaceId: string | null;
  status: 'queued' | 'running' | 'paused' | 'failed' | 'dead_letter' | 'success' | 'canceled';
  queueState: 'QUEUED' | 'RUNNING' | 'PAUSED' | 'DONE' | 'FAILED';
  stage: string | null;
  runAt: string;
  nextRetryAt: string | null;
  retryCount: number;
  maxRetries: number;
  runId: string | null;
  correlationId: string;
  errorCode: string | null;
  errorMessage: string | null;
  checkpoint: Record<string, unknown>;
  counters: Record<string, number>;
  leasedBy: string | null;
  heartbeatAt: string | null;
  cleanupOpen: boolean;
  requeuedFrom: string | null;
  createdBy: string;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
  updatedAt: string;
  [name: string]: unknown;
}

export interface JobPreview {
  columns: {
    name: string;
    type: 'empty' | 'boolean' | 'integer' | 'number' | 'date' | 'url' | 'email' | 'text';
  }[];
  totalRows: number;
  rows: {
    input: Record<string, unknown>;
    status: 'DONE' | 'ERROR' | 'NOT_FOUND' | 'SKIPPED';
    result: unknown;
    lastError: string | null;
    errorCode: string | null;
  }[];
  repairs: {
    code: string;
    row: number | null;
    message: string;
  }[];
}

export interface KnowledgeBase {
  kb_id: string;
  name: string;
  chunker: {
    strategy: 'markdown' | 'recursive' | 'fixed';
    max_tokens: number;
    min_tokens?: number;
    overlap_tokens?: number;
    context?: 'headings' | 'none';
  };
  embedder: {
    provider: 'local' | 'openai' | 'custom';
    name?: string;
    base_url?: string;
    model?: string;
    dimensions?: number | null;
    /** Null: none, or one that you may not use */
    api_key_secret?: string | null;
    price_per_million_tokens?: number;
  };
  /** What orders the results of searches anew; null: nothing */
  reranker: {
    provider: 'endpoint' | 'custom';
    name?: string;
    url?: string;
    model?: string;
    /** Null: none, or one that you may not use */
    api_key_secret?: string | null;
    candidates: number;
  } | null;
  /** The language of its texts, for searches by words */
  language: 'simple' | 'arabic' | 'armenian' | 'basque' | 'catalan' | 'danish' | 'dutch' | 'english' | 'finnish' | 'french' | 'german' | 'greek' | 'hindi' | 'hungarian' | 'indonesian' | 'irish' | 'italian' | 'lithuanian' | 'nepali' | 'norwegian' | 'portuguese' | 'romanian' | 'russian' | 'serbian' | 'spanish' | 'swedish' | 'tamil' | 'turkish' | 'yiddish';
  /** The build of the index that searches use; 0 before the first run has ended */
  generation: number;
  /** State of its last run */
  status: 'not_started' | 'running' | 'paused' | 'completed' | 'failed' | 'canceled';
  /** Job of its last run */
  job_id: string | null;
  /** Number of documents in each state; not in lists */
  documents?: {
    indexed: number;
    empty: number;
    error: number;
    gone: number;
  };
  /** Number of chunks; not in lists */
  chunks?: number;
  created_by: string;
  created_at: string;
  updated_at: string;
}

export interface KnowledgeDocument {
  document_id: string;
  kb_id: string;
  source_id: string;
  uri: string;
  title: string;
  media_type: string | null;
  state: 'indexed' | 'empty' | 'error' | 'gone';
  content_hash: string | null;
  chunk_count: number;
  error_code: string | null;
  error_text: string | null;
  /** What was left out or repaired when the document was read */
  notes: string[];
  /** What the document, its source and the API say of it; for filters */
  metadata: Record<string, unknown>;
  /** Groups whose members may see it; null: everybody */
  allow: string[] | null;
  updated_at: string;
}

export interface KnowledgeEvaluation {
  evaluation_id: string;
  /** The build of the index that was asked */
  generation: number;
  mode: 'vector' | 'text' | 'hybrid';
  k: number;
  questions: number;
  /** Share of the relevant documents among the first k, mean over the questions */
  recall: number;
  ndcg: number;
  /** Mean of 1 / place of the first relevant document */
  mrr: number;
  created_at: string;
}

export interface KnowledgeFile {
  file_id: string;
  kb_id: string;
  name: string;
  /** URI of the document that the next run makes from the file */
  uri: string;
  media_type: string;
  size_bytes: number;
  sha256: string;
  /** Where the file came from, if the sender said so */
  origin: string | null;
  created_at: string;
}

export interface KnowledgePassage {
  ordinal: number;
  text: string;
  heading_path: string[];
  start: number;
  end: number;
  /** The page or slide that it begins on */
  page?: number;
  /** All pages that it is on; absent if the document has none */
  pages?: number[];
}

export interface KnowledgePlan {
  documents: {
    new: number;
    changed: number;
    gone: number;
    unchanged: number;
  };
  chunks: number;
  tokens: number;
  /** In the currency of the embedder’s price */
  cost: number;
  /** False if time ran out before every document was read */
  is_complete: boolean;
  /** Everything is embedded again: the index was built with other settings, or with an older built-in model */
  is_rebuild: boolean;
}

export interface KnowledgeResults {
  results: {
    document: {
      document_id: string;
      uri: string;
      title: string;
      /** What the document, its source and the API say of it; for filters */
      metadata: Record<string, unknown>;
    };
    heading_path: string[];
    start: number;
    end: number;
    /** The page or slide that it begins on; absent if the document has none */
    page?: number;
    text: string;
    score: number;
    /** All pages or slides that it is on */
    pages?: number[];
    /** Where a person reads it: the place on the web, or a path of this server that shows the document */
    link: string;
    /** Where the words of the query are in `text`, in any of their forms */
    highlights?: {
      start: number;
      end: number;
    }[];
    /** The part of `text` that is nearest in meaning; only if the request has `sentences` */
    best_sentence?: {
      start: number;
      end: number;
    };
    /** The neighbouring passages that it was made of, at most four; absent if it is one */
    passages?: {
      start: number;
      end: number;
      score: number;
    }[];
    /** Other places with the same text, at most 20; absent if there are none */
    also_in?: {
      document: {
        document_id: string;
        uri: string;
        title: string;
      };
      heading_path: string[];
      start: number;
      end: number;
      /** The page or slide that it begins on; absent if the document has none */
      page?: number;
    }[];
    /** How the score came about; only if the request has `explain` */
    explanation?: {
      /** Cosine of the vectors of passage and query */
      similarity: number | null;
      /** Score of the words: the sum of their scores */
      bm25: number;
      /** Score of an average passage with each word of the query once */
      bm25_of_all_words: number;
      /** What the words add to the similarity in a hybrid search */
      words_add: number | null;
      word_count: number | null;
      average_word_count: number | null;
      words: {
        /** As the index has it */
        word: string;
        /** Number of passages that contain it */
        passages: number;
        /** Its inverse document frequency */
        weight: number;
        /** How often the passage contains it */
        occurrences: number;
        score: number;
      }[];
    };
  }[];
  /** Whether the reranker has ordered the results; absent if there is none, or it was not asked */
  reranked?: boolean;
  /** What to know of the results: fields that no document has, or that the reranker failed */
  notes?: string[];
}

export interface KnowledgeResultsOfAll {
  results: {
    document: {
      document_id: string;
      uri: string;
      title: string;
      /** What the document, its source and the API say of it; for filters */
      metadata: Record<string, unknown>;
    };
    heading_path: string[];
    start: number;
    end: number;
    /** The page or slide that it begins on; absent if the document has none */
    page?: number;
    text: string;
    score: number;
    /** All pages or slides that it is on */
    pages?: number[];
    /** Where a person reads it: the place on the web, or a path of this server that shows the document */
    link: string;
    /** Where the words of the query are in `text`, in any of their forms */
    highlights?: {
      start: number;
      end: number;
    }[];
    /** The part of `text` that is nearest in meaning; only if the request has `sentences` */
    best_sentence?: {
      start: number;
      end: number;
    };
    /** The neighbouring passages that it was made of, at most four; absent if it is one */
    passages?: {
      start: number;
      end: number;
      score: number;
    }[];
    /** Other places with the same text, at most 20; absent if there are none */
    also_in?: {
      document: {
        document_id: string;
        uri: string;
        title: string;
      };
      heading_path: string[];
      start: number;
      end: number;
      /** The page or slide that it begins on; absent if the document has none */
      page?: number;
    }[];
    /** How the score came about; only if the request has `explain` */
    explanation?: {
      /** Cosine of the vectors of passage and query */
      similarity: number | null;
      /** Score of the words: the sum of their scores */
      bm25: number;
      /** Score of an average passage with each word of the query once */
      bm25_of_all_words: number;
      /** What the words add to the similarity in a hybrid search */
      words_add: number | null;
      word_count: number | null;
      average_word_count: number | null;
      words: {
        /** As the index has it */
        word: string;
        /** Number of passages that contain it */
        passages: number;
        /** Its inverse document frequency */
        weight: number;
        /** How often the passage contains it */
        occurrences: number;
        score: number;
      }[];
    };
    base: {
      kb_id: string;
      name: string;
    };
  }[];
  facets: {
    /** base, format, or a field of the metadata */
    field: string;
    values: {
      value: string | number | boolean;
      label: string;
      /** How many of the found documents have it */
      documents: number;
    }[];
  }[];
  /** Knowledge bases that could not be searched */
  notes: string[];
}

export interface KnowledgeRun {
  job_id: string | null;
  kb_id: string;
  status: 'not_started' | 'running' | 'paused' | 'completed' | 'failed' | 'canceled';
  stage: string | null;
  /** {last_batch_id, cursor} */
  checkpoint: Record<string, unknown> | null;
  counters: {
    docs_seen: number;
    docs_unchanged: number;
    docs_empty: number;
    docs_error: number;
    docs_gone: number;
    chunks_seen: number;
    chunks_processed: number;
    chunks_skipped: number;
    chunks_error: number;
    tokens_embedded: number;
  };
  /** Sources that could not list all their documents; none of their documents were removed */
  incomplete_sources: {
    source_id: string;
    reason: string;
  }[];
  last_error: string | null;
  error_code: string | null;
  heartbeat_age_seconds: number | null;
  /** The run is due, and no worker has reported progress for 30 seconds */
  stalled: boolean;
  /** The run waits until then: its embedder is throttling or down, or the next attempt is not due yet */
  waiting_until: string | null;
  /** Why the run waits for its embedder; null if it does not */
  waiting_reason: string | null;
  /** Number of documents that the sources are known to have; 0 if unknown */
  docs_expected: number;
  docs_per_second: number;
  chunks_per_second: number;
  /** Null if unknown */
  eta_seconds: number | null;
  started_at: string | null;
  finished_at: string | null;
}

export interface KnowledgeSource {
  source_id: string;
  kb_id: string;
  type: 'files' | 'markdown' | 'text' | 'html' | 'folder' | 'website' | 'youtube' | 's3' | 'zip' | 'git' | 'reference';
  settings: Record<string, unknown>;
  created_at: string;
}

export interface Me {
  user_id: string;
  tenant_id: string;
  role: 'member' | 'admin' | 'support' | 'service' | 'operator';
  via: 'token' | 'api_key' | 'session';
  name: string | null;
  email: string | null;
  plan: 'free' | 'growth' | 'enterprise';
  tenant: Tenant;
  rights: string[];
}

export interface MetricBreakdown {
  breakdown_id: number;
  date_from: string;
  date_to: string;
  /** What the line is about, by column of the report */
  dimensions: Record<string, string>;
  /** The line of the file of last_upload */
  line: number | null;
  workspace_id: string;
  client_id: string | null;
  platform: string;
  created_by_upload: string;
  last_upload: string;
  created_at: string;
  updated_at: string;
  campaign_id: string | null;
  campaign_external_id: string | null;
  campaign_name: string | null;
  ad_set_id: string | null;
  ad_set_external_id: string | null;
  ad_set_name: string | null;
  ad_id: string | null;
  ad_external_id: string | null;
  ad_name: string | null;
  impressions: number | null;
  /** All clicks */
  clicks: number | null;
  /** Clicks on the link of the ad */
  link_clicks: number | null;
  /** Null where lines were added up: people cannot be */
  reach: number | null;
  spend: number | null;
  conversions: number | null;
  conversion_value: number | null;
  currency: string | null;
}

export interface OpenAiSearchResults {
  object: 'vector_store.search_results.page';
  search_query: string[];
  data: {
    /** The document_id */
    file_id: string;
    /** The name of the file, or the URI of the document */
    filename: string;
    score: number;
    attributes: Record<string, string | number | boolean>;
    content: {
      type: 'text';
      text: string;
    }[];
  }[];
  has_more: boolean;
  next_page: string | null;
}

export interface Overview {
  as_of: string;
  /** What waits for a person */
  needs_you: {
    /** dead_letters, uploads_in_review, uploads_failed, connectors_failing, … */
    kind: string;
    /** The error code that they share */
    code: string | null;
    count: number;
    oldest_at: string | null;
    /** The thing itself, when it is only one */
    subject_id: string | null;
  }[];
  now: {
    /** Jobs that have not ended */
    jobs: {
      pipeline: string;
      status: string;
      count: number;
    }[];
    queued: number;
    running: number;
    paused: number;
    waiting_for_retry: number;
    /** Since when the first job has been waiting although it could start */
    waiting_since: string | null;
    workers_alive: number;
  };
  last_day: {
    since: string;
    step_seconds: number;
    succeeded: number;
    /** Dead letters: a job that will be retried has not failed */
    failed: number;
    canceled: number;
    /** Rows, records, chunks or references of jobs that ended */
    rows: number;
    points: {
      at: string;
      succeeded: number;
      failed: number;
      rows: number;
    }[];
    failures: {
      pipeline: string;
      error_code: string | null;
      count: number;
    }[];
  };
}

export interface OwnSession {
  session_id: string;
  created_at: string;
  expires_at: string;
  /** What the browser or program called itself at login */
  agent: string | null;
  /** The session of this request */
  is_current: boolean;
}

export interface PeriodMetric {
  metric_id: number;
  date_from: string;
  date_to: string;
  workspace_id: string;
  client_id: string | null;
  platform: string;
  created_by_upload: string;
  last_upload: string;
  created_at: string;
  updated_at: string;
  campaign_id: string | null;
  campaign_external_id: string | null;
  campaign_name: string | null;
  ad_set_id: string | null;
  ad_set_external_id: string | null;
  ad_set_name: string | null;
  ad_id: string | null;
  ad_external_id: string | null;
  ad_name: string | null;
  impressions: number | null;
  /** All clicks */
  clicks: number | null;
  /** Clicks on the link of the ad */
  link_clicks: number | null;
  /** Null where lines were added up: people cannot be */
  reach: number | null;
  spend: number | null;
  conversions: number | null;
  conversion_value: number | null;
  currency: string | null;
}

/** What went wrong, as RFC 9457 problem details; docs/errors.md lists the codes. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  code: string;
  request_id: string;
  errors: {
    pointer: string;
    message: string;
  }[];
  [name: string]: unknown;
}

export interface Provider {
  host: string;
  rate_per_second: number | null;
  concurrency: number | null;
  daily_budget: number | null;
  timeout_ms: number | null;
  cost_per_call: number | null;
  calls_today: number;
  cost_today: number;
  calls_open: number;
  /** What the controllers decided last; null while it was not called */
  pace: {
    calls_at_once: number;
    delay_ms: number;
    reason: string;
  } | null;
  /** open: so many calls in a row failed that only one at a time is made */
  breaker: 'closed' | 'open';
  waiting_for: string | null;
  waiting_until: string | null;
}

export interface Readiness {
  status: 'ready' | 'not_ready';
  checks: Record<string, {
    state: 'ok' | 'failed';
    detail?: string;
  }>;
}

export interface ReprocessedJob {
  jobId: string;
  /** What people call it: the file, the base, the connector */
  name: string;
  pipeline: string;
  subjectId: string;
  workspaceId: string | null;
  status: 'queued' | 'running' | 'paused' | 'failed' | 'dead_letter' | 'success' | 'canceled';
  queueState: 'QUEUED' | 'RUNNING' | 'PAUSED' | 'DONE' | 'FAILED';
  stage: string | null;
  runAt: string;
  nextRetryAt: string | null;
  retryCount: number;
  maxRetries: number;
  runId: string | null;
  correlationId: string;
  errorCode: string | null;
  errorMessage: string | null;
  checkpoint: Record<string, unknown>;
  counters: Record<string, number>;
  leasedBy: string | null;
  heartbeatAt: string | null;
  cleanupOpen: boolean;
  requeuedFrom: string | null;
  createdBy: string;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
  updatedAt: string;
  jobType: 'csv' | 'image';
  processor: string;
  fileName: string | null;
  /** The record of the file of rows; null for images, which have one each */
  fileId: string | null;
  /** What the file of rows was; its bytes are not kept */
  file?: {
    mediaType: string;
    sizeBytes: number;
    sha256: string;
  };
  /** The columns of the file */
  columns: string[];
  /** Keys of the results so far; they are columns of the grid and of exports */
  resultColumns: string[];
  totalItems: number;
  processedItems: number;
  failedItems: number;
  counts: {
    PENDING: number;
    PROCESSING: number;
    DONE: number;
    ERROR: number;
    NOT_FOUND: number;
    SKIPPED: number;
  };
  /** What was repaired while the file was read, with the first places of each */
  notes: RowNote[];
  /** File column → column of the job, or null if it was left out */
  mapping: Record<string, string | null> | null;
  /** What the controllers decided last, and why */
  controllers: {
    ingest?: {
      reason: string;
      [name: string]: unknown;
    };
    claim?: {
      reason: string;
      [name: string]: unknown;
    };
    providers?: {
      reason: string;
      [name: string]: unknown;
    }[];
    [name: string]: unknown;
  };
  reset: number;
  exhausted: number;
  [name: string]: unknown;
}

export interface RowNote {
  code: string;
  message: string;
  count: number;
  places: {
    line: number | null;
    row: number | null;
    what: string;
  }[];
}

export interface ScrapeReference {
  reference_id: string;
  external_id: string;
  url: string;
  title: string;
  media_type: string | null;
  metadata: Record<string, unknown>;
  payload_hash: string;
  content_bytes: number;
  /** The last run that found the reference */
  scrape_run_id: string;
  /** When the site reported that the page no longer exists */
  gone_at: string | null;
  created_at: string;
  updated_at: string;
}

export interface ScrapeRun {
  scrape_run_id: string;
  source: string;
  mode: 'push' | 'crawl';
  status: 'running' | 'completed' | 'failed';
  /** Crawls only */
  job_id: string | null;
  references_persisted: number;
  references_created: number;
  references_changed: number;
  handoff_queued_count: number;
  handoff_completed_count: number;
  handoff_failed_count: number;
  handoff_skipped_count: number;
  /** Why nothing was handed over and all hand-off counts are 0: hand-offs are disabled */
  handoff_notice: string | null;
  /** Crawls only */
  pages_failed: number;
  /** Crawls only: all pages were visited */
  is_complete: boolean | null;
  /** Crawls only: the pause between two requests, as robots.txt asks for it */
  delay_ms: number | null;
  /** Crawls only: how long Retry-After has held the crawl up */
  paused_ms: number | null;
  error_code: string | null;
  error_text: string | null;
  created_by: string;
  started_at: string;
  finished_at: string | null;
}

export interface ScrapeRunWithHandoffs {
  scrape_run_id: string;
  source: string;
  mode: 'push' | 'crawl';
  status: 'running' | 'completed' | 'failed';
  /** Crawls only */
  job_id: string | null;
  references_persisted: number;
  references_created: number;
  references_changed: number;
  handoff_queued_count: number;
  handoff_completed_count: number;
  handoff_failed_count: number;
  handoff_skipped_count: number;
  /** Why nothing was handed over and all hand-off counts are 0: hand-offs are disabled */
  handoff_notice: string | null;
  /** Crawls only */
  pages_failed: number;
  /** Crawls only: all pages were visited */
  is_complete: boolean | null;
  /** Crawls only: the pause between two requests, as robots.txt asks for it */
  delay_ms: number | null;
  /** Crawls only: how long Retry-After has held the crawl up */
  paused_ms: number | null;
  error_code: string | null;
  error_text: string | null;
  created_by: string;
  started_at: string;
  finished_at: string | null;
  /** Current state of its hand-offs; null while hand-offs are disabled */
  handoffs: {
    queued: number;
    running: number;
    completed: number;
    failed: number;
  } | null;
}

export interface ScrapeSource {
  source: string;
  mode: 'push' | 'crawl';
  kind: 'website' | 'sitemap' | 'feed' | null;
  kb_id: string;
  url: string | null;
  max_pages: number | null;
  max_depth: number | null;
  include: string[];
  exclude: string[];
  sitemap: boolean | null;
  /** How often the crawl starts by itself */
  every_hours: number | null;
  next_crawl_at: string | null;
  last_run: {
    scrape_run_id: string;
    status: 'running' | 'completed' | 'failed';
    started_at: string;
    finished_at: string | null;
  } | null;
  created_by: string;
  created_at: string;
  updated_at: string;
}

export interface ScrapeSync {
  scrape_run_id: string;
  source: string;
  mode: 'push' | 'crawl';
  status: 'running' | 'completed' | 'failed';
  /** Crawls only */
  job_id: string | null;
  references_persisted: number;
  references_created: number;
  references_changed: number;
  handoff_queued_count: number;
  handoff_completed_count: number;
  handoff_failed_count: number;
  handoff_skipped_count: number;
  /** Why nothing was handed over and all hand-off counts are 0: hand-offs are disabled */
  handoff_notice: string | null;
}

export interface Session {
  user_id: string;
  tenant_id: string;
  role: 'member' | 'admin' | 'support' | 'service' | 'operator';
  /** The session’s lifetime: 12 hours, or less if the token ends before */
  expires_in_seconds: number;
}

export interface ShownFigureReconciliation {
  /** Over the data lines of the file, identical ones once */
  lines: string | null;
  /** What identical lines would have added */
  duplicates: string | null;
  /** The file’s own total row; null when it has none */
  total_row: string | null;
  /** What production holds of it; null before promotion */
  promoted: string | null;
  refused: string | null;
  /** Not stored, because a newer upload had stated it already */
  superseded: string | null;
  /** Cells that could not be read; no sum contains them */
  unreadable: number;
  agrees: boolean;
  /** Where the sums differ */
  difference: string | null;
  /** The same as lines */
  file_lines: string | null;
  /** The same as total_row */
  file_total: string | null;
  /** Cells that a person corrected during review; the sums have them corrected */
  corrected_cells: number;
}

export interface SignInWays {
  /** Null when no login provider is set */
  oidc: {
    /** What the provider is called */
    name: string;
    url: string;
  } | null;
}

export interface StagedRow {
  row_index: number;
  /** The line of the file, from 1 */
  line: number | null;
  entity_type: 'campaign' | 'ad_set' | 'ad' | 'daily_metric' | 'period_metric';
  natural_key_hash: string;
  raw_data: Record<string, unknown>;
  validation_status: 'pending' | 'valid' | 'invalid';
  validation_errors: {
    field: string;
    code: string;
    message: string;
    value: string | null;
  }[] | null;
  promotion_error: {
    code: string;
    message: string;
  } | null;
  promotion_warning: {
    code: string;
    message: string;
  } | null;
}

export interface StartedKnowledgeRun {
  job_id: string;
  kb_id: string;
  status: 'not_started' | 'running' | 'paused' | 'completed' | 'failed' | 'canceled';
}

export interface Sync {
  job_id: string;
  tenant_id: string;
  connector_id: string | null;
  external_account_id: string | null;
  status: 'queued' | 'running' | 'paused' | 'failed' | 'dead_letter' | 'success' | 'canceled';
  stage: string | null;
  retry_count: number;
  max_retries: number;
  run_id: string | null;
  correlation_id: string;
  error_message: string | null;
  error_code: string | null;
  next_retry_at: string | null;
  records_synced: number | null;
  bytes_synced: number | null;
  duration_seconds: number | null;
  run_started_at: string | null;
  run_ended_at: string | null;
  failure_reason: string | null;
  /** no_records or no_statistics: the sync succeeded, and nothing is known to have moved */
  result_code: string | null;
  /** The run’s status that Airbyte last reported */
  airbyte_status: string | null;
  /** True when somebody else started the run and this job follows it */
  adopted: boolean;
  /** Why the sync is waiting */
  waiting_for: string | null;
  /** The reset, refresh or clear at Airbyte that the sync waits for */
  blocked_by: {
    run_id: string;
    job_type: string;
    since: string;
  } | null;
  trigger_started_at: string | null;
  requeued_from: string | null;
  created_by: string;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  updated_at: string;
}

export interface Task {
  name: string;
  kind: 'pipeline' | 'task';
  /** JSON Schema, where it can be told */
  input_schema: Record<string, unknown> | null;
  /** In words; null when it is only dispatched */
  schedule: string | null;
}

export interface Tenant {
  tenant_id: string;
  name: string;
  plan: 'free' | 'growth' | 'enterprise';
  limits: Record<string, number>;
  created_at: string;
  updated_at: string;
}

export interface TriedRows {
  processor: string;
  data: {
    rowNo: number;
    status: 'DONE' | 'ERROR' | 'NOT_FOUND' | 'SKIPPED';
    errorCode: string | null;
    lastError: string | null;
    wouldRetry: boolean;
    calls: {
      provider: string;
      [name: string]: unknown;
    }[];
    input: Record<string, unknown>;
    result: unknown;
  }[];
}

export interface UndoPreview {
  deleted: {
    campaigns: number;
    ad_sets: number;
    ads: number;
    daily_metrics: number;
    period_metrics: number;
    metric_breakdowns: number;
  };
  not_undone: {
    campaigns: number;
    ad_sets: number;
    ads: number;
    daily_metrics: number;
    period_metrics: number;
    metric_breakdowns: number;
  };
}

export interface Upload {
  upload_id: string;
  workspace_id: string;
  client_id: string | null;
  platform: string;
  /** Of the tenant’s own profile that it is read with; null for built-in platforms */
  platform_version: number | null;
  source: 'manual' | 'api' | 'webhook';
  /** How the file came */
  origin: 'request' | 'folder' | 'adapter' | 'pull';
  /** The range of a report that names none itself */
  date_from: string | null;
  date_to: string | null;
  filename: string | null;
  /** How the report was unpacked; null when the file came as it is read */
  unpacked: {
    /** From the outside in */
    from: ('zip' | 'gzip' | 'xlsx')[];
    /** The name of the file that was sent */
    archive: string | null;
    /** The place of the report in a ZIP archive */
    path: string | null;
    /** The sheet of a workbook that was read */
    sheet: string | null;
    /** Visible sheets that were not read */
    other_sheets: string[];
    is_1904: boolean;
  } | null;
  file_url: string;
  status: 'pending' | 'processing' | 'staging_complete' | 'promoting' | 'completed' | 'partial' | 'failed';
  force_partial: boolean;
  review: boolean;
  mapping: Record<string, string | null>;
  job_id: string;
  row_count: number | null;
  total_rows: number;
  valid_rows: number;
  invalid_rows: number;
  promoted_rows: number;
  failed_rows: number;
  campaigns_upserted: number;
  ad_sets_upserted: number;
  ads_upserted: number;
  daily_metrics_upserted: number;
  period_metrics_upserted: number;
  breakdowns_stored: number;
  reconciliation: {
    agrees: boolean;
    figures: Record<string, FigureReconciliation>;
  } | null;
  /** What a person has to decide before the upload can be promoted */
  blockers: {
    code: string;
    message: string;
    column?: string;
    lines?: number;
  }[];
  affected_dates: string[];
  warnings: {
    code: string;
    message: string;
    count: number;
  }[];
  layout: {
    format?: string;
    encoding?: string;
    /** The columns as named in the file */
    headers?: string[];
    /** Some values of each column */
    samples?: string[][];
    /** The column that each field is read from */
    sources?: Record<string, string>;
    /** Columns that are not read, with the field that each may mean */
    unmapped?: {
      header: string;
      suggestion: 'metric_date' | 'period_start' | 'period_end' | 'campaign_id' | 'campaign_name' | 'campaign_status' | 'campaign_type' | 'ad_set_id' | 'ad_set_name' | 'ad_set_status' | 'ad_id' | 'ad_name' | 'ad_status' | 'impressions' | 'clicks' | 'link_clicks' | 'reach' | 'spend' | 'conversions' | 'conversion_value' | 'currency' | null;
    }[];
    /** Required fields that have no column */
    missing?: string[];
    notes?: {
      code: string;
      message: string;
    }[];
    currency?: string | null;
    /** The range of a report without days */
    range?: {
      from: string;
      to: string;
    } | null;
    /** The columns that the report is broken down by */
    dimensions?: string[];
    [name: string]: unknown;
  } | null;
  /** Held and being read again with another mapping; the figures are still those of the previous one */
  checking: boolean;
  error_code: string | null;
  error_text: string | null;
  event_emitted: boolean;
  created_by: string;
  created_at: string;
  updated_at: string;
  finished_at: string | null;
  undone_at: string | null;
}

export interface UploadCorrection {
  row_index: number;
  line: number | null;
  column: string;
  /** What the file says */
  old_value: string;
  new_value: string;
  corrected_by: string;
  corrected_at: string;
}

export interface UploadMapping {
  platform: string;
  mapping: Record<string, string | null>;
}

export interface UploadPlatform {
  name: string;
  is_built_in: boolean;
  /** Of a platform of the tenant’s own; uploads keep theirs */
  version: number | null;
  created_by: string | null;
  created_at: string | null;
  profile: {
    title: string;
    notes: string;
    /** Language to field to column names, best first */
    aliases: Record<string, Record<string, string[]>>;
    api: Record<string, string[]>;
    micros: string[];
    marks: string[];
    dimensions: string[];
    blank_names_are_totals: boolean;
    total_labels?: string[];
    decimal_mark?: string | null;
    date_order?: string | null;
    daily_advice: string;
  };
}

export interface UploadPlatformSummary {
  name: string;
  title: string;
  is_built_in: boolean;
  version: number | null;
  languages: string[];
  created_at: string | null;
}

export interface UploadPreview {
  campaigns: {
    created: number;
    updated: number;
    unchanged: number;
  };
  ad_sets: {
    created: number;
    updated: number;
    unchanged: number;
  };
  ads: {
    created: number;
    updated: number;
    unchanged: number;
  };
  daily_metrics: {
    created: number;
    updated: number;
    unchanged: number;
  };
  period_metrics: {
    created: number;
    updated: number;
    unchanged: number;
  };
  /** If it is not met, promoting needs force_partial */
  threshold: {
    total_rows: number;
    valid_rows: number;
    percent_needed: number;
    is_met: boolean;
  };
}

export interface UploadProblem {
  code: string;
  field: string;
  title: string;
  fix: string;
  /** Rows with this problem; a row with several problems counts for each */
  count: number;
  /** The message of the first example */
  message: string;
  example_rows: {
    row_index: number;
    message: string;
    /** The value of the field in the file */
    value: string | null;
    /** The row by column; only some columns of wide rows */
    cells: Record<string, string>;
  }[];
}

export interface UploadProblems {
  data: UploadProblem[];
  /** How many rows were refused; each counts once */
  refused_rows: number;
  /** There are less frequent reasons that are not listed */
  has_more: boolean;
}

export interface UploadPull {
  job_id: string;
  source_id: string;
  status: string;
  created_at: string;
}

export interface UploadReconciliation {
  upload_id: string;
  status: string;
  agrees: boolean;
  figures: Record<string, ShownFigureReconciliation>;
  notes: {
    code: string;
    message: string;
  }[];
}

export interface UploadSource {
  source_id: string;
  name: string;
  workspace_id: string;
  client_id: string | null;
  platform: string;
  /** As it was created; names of secrets that the caller may not use are null */
  place: {
    kind: 'url' | 's3' | 'ftp' | 'meta' | 'google' | 'tiktok';
    [name: string]: unknown;
  };
  restate_days: number;
  enabled: boolean;
  cadence_hours: number | null;
  cron: string | null;
  time_zone: string;
  /** Null: pulled only on request */
  next_pull_at: string | null;
  state: 'new' | 'pulling' | 'waiting' | 'ok' | 'failing';
  last_pull_at: string | null;
  last_success_at: string | null;
  last_result: {
    /** What came of the last pull */
    message: string;
    /** The days it asked for */
    range: {
      from: string;
      to: string;
    } | null;
    /** At most 100 uploads that it made */
    upload_ids: string[];
    /** Contents that were pulled before */
    unchanged: number;
    /** Files that are no reports */
    refused: number;
  } | null;
  last_job_id: string | null;
  last_error: string | null;
  last_error_code: string | null;
  next_retry_at: string | null;
  created_by: string;
  created_at: string;
  updated_at: string;
}

export interface User {
  user_id: string;
  role: 'member' | 'admin' | 'support' | 'service' | 'operator';
  name: string | null;
  email: string | null;
  disabled: boolean;
  disabled_at: string | null;
  /** Invited then, and has not come yet */
  invited_at: string | null;
  /** Has used a verified operator token: only an operator can change this user */
  operator: boolean;
  created_at: string;
  last_seen_at: string;
}

export interface Webhook {
  webhook_id: string;
  url: string;
  /** Null: all types */
  event_types: string[] | null;
  description: string | null;
  enabled: boolean;
  disabled_reason: string | null;
  disabled_at: string | null;
  /** Failed tries since the last success */
  failures_in_row: number;
  /** Since a delivery was given up; the next success clears it */
  failing_since: string | null;
  /** Accurate to about ten seconds */
  last_success_at: string | null;
  /** Until then, two secrets sign */
  previous_secret_expires_at: string | null;
  created_by: string;
  created_at: string;
  updated_at: string;
}

export interface WebhookDelivery {
  /** The header webhook-id, the same on each try */
  delivery_id: string;
  webhook_id: string;
  event_id: string;
  event_type: string;
  subject: string | null;
  status: 'pending' | 'delivered' | 'exhausted';
  attempts: number;
  last_attempt_at: string | null;
  last_status_code: number | null;
  /** In a sentence */
  last_error: string | null;
  last_duration_ms: number | null;
  /** Null while it is being tried, and when it is finished */
  next_attempt_at: string | null;
  created_at: string;
  finished_at: string | null;
}

export interface WebhookDeliveryDetail {
  /** The header webhook-id, the same on each try */
  delivery_id: string;
  webhook_id: string;
  event_id: string;
  event_type: string;
  subject: string | null;
  status: 'pending' | 'delivered' | 'exhausted';
  attempts: number;
  last_attempt_at: string | null;
  last_status_code: number | null;
  /** In a sentence */
  last_error: string | null;
  last_duration_ms: number | null;
  /** Null while it is being tried, and when it is finished */
  next_attempt_at: string | null;
  created_at: string;
  finished_at: string | null;
  /** The body that is sent and signed */
  body: string | null;
  /** The last twenty, oldest first */
  attempt_log: {
    at: string;
    status_code: number | null;
    error: string | null;
    duration_ms: number;
    /** Its first 1,024 bytes */
    response_body: string | null;
  }[];
}

export interface WebhookWithSecret {
  webhook_id: string;
  url: string;
  /** Null: all types */
  event_types: string[] | null;
  description: string | null;
  enabled: boolean;
  disabled_reason: string | null;
  disabled_at: string | null;
  /** Failed tries since the last success */
  failures_in_row: number;
  /** Since a delivery was given up; the next success clears it */
  failing_since: string | null;
  /** Accurate to about ten seconds */
  last_success_at: string | null;
  /** Until then, two secrets sign */
  previous_secret_expires_at: string | null;
  created_by: string;
  created_at: string;
  updated_at: string;
  /** Shown this once; only an encrypted copy is stored */
  secret: string;
}

export interface Workspace {
  workspace_id: string;
  name: string;
  created_at: string;
  updated_at: string;
}

/** Every path: per method its path parameters, query, JSON body and the reply when all went well. */
export interface Paths {
  '/api/ad-sets': {
    /** List ad sets from uploads. Right: `upload.read`. */
    get: {
      path: undefined;
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
        workspace_id?: string;
        platform?: string;
        /** Only rows that this upload created, or was the last to confirm or change */
        upload_id?: string;
      };
      body: undefined;
      reply: {
        data: AdSet[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/ads': {
    /** List ads from uploads. Right: `upload.read`. */
    get: {
      path: undefined;
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
        workspace_id?: string;
        platform?: string;
        /** Only rows that this upload created, or was the last to confirm or change */
        upload_id?: string;
      };
      body: undefined;
      reply: {
        data: Ad[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/airbyte-servers': {
    /** List the tenant’s own Airbyte servers. Right: `connector.manage`. */
    get: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: {
        data: AirbyteServer[];
      };
    };
  };
  '/api/airbyte-servers/{server}': {
    /** Create or change an Airbyte server of the tenant. Right: `connector.manage`. */
    put: {
      path: {
        server: string;
      };
      query: undefined;
      body: {
        /** Of the public API; of a self-managed server it ends in /api/public/v1 */
        base_url: string;
        /** token; client: id and secret of an application; basic: user and password */
        auth: 'token' | 'client' | 'basic';
        /** The client’s id or the user’s name */
        identity?: string | null;
        /** The name of a stored secret, bound to this host */
        secret: string;
        workspace_id?: string | null;
      };
      reply: AirbyteServer;
    };
    /** Delete an Airbyte server that no connector uses. Right: `connector.manage`. */
    delete: {
      path: {
        server: string;
      };
      query: undefined;
      body: undefined;
      reply: null;
    };
  };
  '/api/airbyte-servers/{server}/check': {
    /** Ask the server whether its address, credentials and workspace are right. Right: `connector.manage`. */
    post: {
      path: {
        server: string;
      };
      query: undefined;
      body: undefined;
      reply: AirbyteFinding;
    };
  };
  '/api/api-keys': {
    /** List API keys, including revoked ones; the keys themselves are never shown. Right: `api_key.manage`. */
    get: {
      path: undefined;
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
      };
      body: undefined;
      reply: {
        data: ApiKey[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
    /** Create an API key. Right: `api_key.manage`. */
    post: {
      path: undefined;
      query: undefined;
      body: {
        name: string;
        /** An admin: member, admin or service; an operator: any */
        role: 'member' | 'admin' | 'support' | 'service' | 'operator';
        expires_at?: string;
      };
      reply: CreatedApiKey;
    };
  };
  '/api/api-keys/{key_id}': {
    /** Revoke an API key; it stops working at once. Right: `api_key.manage`. */
    delete: {
      path: {
        key_id: string;
      };
      query: undefined;
      body: undefined;
      reply: null;
    };
  };
  '/api/campaigns': {
    /** List campaigns from uploads. Right: `upload.read`. */
    get: {
      path: undefined;
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
        workspace_id?: string;
        platform?: string;
        /** Only rows that this upload created, or was the last to confirm or change */
        upload_id?: string;
      };
      body: undefined;
      reply: {
        data: Campaign[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/catalogs': {
    /** List catalogues with their counts and versions. Right: `catalog.read`. */
    get: {
      path: undefined;
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
      };
      body: undefined;
      reply: {
        data: Catalog[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/catalogs/{name}': {
    /** Get a catalogue. Right: `catalog.read`. */
    get: {
      path: {
        name: string;
      };
      query: undefined;
      body: undefined;
      reply: Catalog;
    };
    /** Delete a catalogue; jobs that use it fail from then on. Right: `catalog.manage`. */
    delete: {
      path: {
        name: string;
      };
      query: undefined;
      body: undefined;
      reply: null;
    };
    /** Replace a whole catalogue with a file of products: multipart with fields (JSON), sheet and file. Right: `catalog.manage`. */
    put: {
      path: {
        name: string;
      };
      query: undefined;
      body: undefined;
      reply: Catalog;
    };
  };
  '/api/catalogs/{name}/match': {
    /** Match up to 100 rows at once, as the processor catalog would. Right: `catalog.read`. */
    post: {
      path: {
        name: string;
      };
      query: undefined;
      body: {
        rows: Record<string, unknown>[];
        fields?: {
          sku?: string;
          brand?: string;
          title?: string;
        };
        /** The order in which strategies are tried */
        strategies?: ('sku' | 'brand_title' | 'fuzzy_title')[];
        /** How similar a title must be, from 0.1 to 1 */
        threshold?: number;
        /** How far the best title must be ahead of the second-best, from 0 to 0.5 */
        margin?: number;
      };
      reply: CatalogMatches;
    };
  };
  '/api/connections': {
    /** List the connections of the Airbyte workspace, with the owner of each connector. Right: `connection.import`. */
    get: {
      path: undefined;
      query: {
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
      };
      body: undefined;
      reply: {
        data: AirbyteConnection[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/connectors': {
    /** Enrol an Airbyte connection as a connector. Right: `connector.manage`. */
    post: {
      path: undefined;
      query: undefined;
      body: {
        name: string;
        external_account_id: string;
        enabled?: boolean;
        /** Null: as often as the plan allows */
        cadence_hours?: number | null;
        /** Five fields, such as `0 6 * * 1-5`; instead of cadence_hours */
        cron?: string | null;
        /** Of cron; UTC unless given */
        time_zone?: string;
        min_interval_seconds?: number | null;
        on_active_sync?: 'adopt' | 'fail' | 'skip';
        connector_id?: string;
        /** A UUID is stored in its canonical spelling; a connection has at most one connector over all tenants */
        airbyte_connection_id: string;
        /** A server of the tenant’s own; left out: the one of this installation */
        airbyte_server?: string;
      };
      reply: EnrolledConnector;
    };
    /** List connectors by their ids, each with its last sync. Right: `connector.read`. */
    get: {
      path: undefined;
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
      };
      body: undefined;
      reply: {
        data: Connector[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/connectors/import': {
    /** Enrol connections of the workspace as connectors of the named tenants. Right: `connection.import`. */
    post: {
      path: undefined;
      query: undefined;
      body: {
        connections: {
          name?: string;
          external_account_id: string;
          enabled?: boolean;
          /** Null: as often as the plan allows */
          cadence_hours?: number | null;
          /** Five fields, such as `0 6 * * 1-5`; instead of cadence_hours */
          cron?: string | null;
          /** Of cron; UTC unless given */
          time_zone?: string;
          min_interval_seconds?: number | null;
          on_active_sync?: 'adopt' | 'fail' | 'skip';
          connector_id?: string;
          /** A UUID is stored in its canonical spelling; a connection has at most one connector over all tenants */
          airbyte_connection_id: string;
          tenant_id: string;
        }[];
      };
      reply: {
        imported: EnrolledConnector[];
        refused: {
          airbyte_connection_id: string;
          tenant_id: string;
          code: string;
          message: string;
        }[];
      };
    };
  };
  '/api/connectors/preview': {
    /** The next five syncs of a schedule, before it is saved. Right: `connector.read`. */
    post: {
      path: undefined;
      query: undefined;
      body: {
        /** Null: as often as the plan allows */
        cadence_hours?: number | null;
        /** Five fields, such as `0 6 * * 1-5`; instead of cadence_hours */
        cron?: string | null;
        /** Of cron; UTC unless given */
        time_zone?: string;
      };
      reply: {
        next_runs: string[];
        minimum_hours: number;
        /** Each sync starts at most so much later, the same for every sync of a connector */
        jitter_seconds: number;
      };
    };
  };
  '/api/connectors/status': {
    /** Whether Airbyte is configured and reachable, and what is missing. Right: `connector.read`. */
    get: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: ConnectorStatus;
    };
  };
  '/api/connectors/{connector_id}': {
    /** Get a connector. Right: `connector.read`. */
    get: {
      path: {
        connector_id: string;
      };
      query: undefined;
      body: undefined;
      reply: Connector;
    };
    /** Change a connector; its Airbyte connection cannot be changed. Right: `connector.manage`. */
    patch: {
      path: {
        connector_id: string;
      };
      query: undefined;
      body: {
        name?: string;
        external_account_id?: string;
        enabled?: boolean;
        /** Null: as often as the plan allows */
        cadence_hours?: number | null;
        /** Five fields, such as `0 6 * * 1-5`; instead of cadence_hours */
        cron?: string | null;
        /** Of cron; UTC unless given */
        time_zone?: string;
        min_interval_seconds?: number | null;
        on_active_sync?: 'adopt' | 'fail' | 'skip';
      };
      reply: Connector;
    };
    /** Delete a connector that has no active sync; its history stays. Right: `connector.manage`. */
    delete: {
      path: {
        connector_id: string;
      };
      query: undefined;
      body: undefined;
      reply: null;
    };
  };
  '/api/connectors/{connector_id}/sync': {
    /** Sync now; 409 with the active job when there is one. Right: `connector.sync`. */
    post: {
      path: {
        connector_id: string;
      };
      query: undefined;
      body: {
        correlation_id?: string;
      } | null;
      reply: Sync;
    };
  };
  '/api/daily-metrics': {
    /** List daily figures by date. Right: `upload.read`. */
    get: {
      path: undefined;
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
        workspace_id?: string;
        platform?: string;
        /** Only rows that this upload created, or was the last to confirm or change */
        upload_id?: string;
        client_id?: string;
        campaign_id?: string;
        /** First day */
        from?: string;
        /** Last day */
        to?: string;
      };
      body: undefined;
      reply: {
        data: DailyMetric[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/daily-metrics/breakdowns': {
    /** List the lines of reports with a breakdown that daily figures are the sums of. Right: `upload.read`. */
    get: {
      path: undefined;
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
        workspace_id?: string;
        platform?: string;
        /** Only rows that this upload created, or was the last to confirm or change */
        upload_id?: string;
        client_id?: string;
        campaign_id?: string;
        /** First day */
        from?: string;
        /** Last day */
        to?: string;
      };
      body: undefined;
      reply: {
        data: MetricBreakdown[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/data/export': {
    /** Download figures as CSV or Parquet: the stored rows, or with group_by their sums. Right: `upload.read`. */
    get: {
      path: undefined;
      query: {
        format?: 'csv' | 'parquet';
        /** `daily`, or `period` for reports without a day; the two are never added together */
        kind?: 'daily' | 'period';
        workspace_id?: string;
        /** `none` for figures without a client */
        client_id?: string | 'none';
        platform?: string;
        campaign_id?: string | 'none';
        /** Part of the campaign’s name, or its id at the platform */
        campaign?: string;
        ad_set_id?: string | 'none';
        ad_id?: string | 'none';
        /** `none` for figures without a currency */
        currency?: string;
        /** Only figures that are stated per campaign, ad set or ad */
        level?: 'campaign' | 'ad_set' | 'ad';
        /** Only figures that this upload created, confirmed or changed */
        upload_id?: string;
        /** First day */
        from?: string;
        /** Last day */
        to?: string;
        /** With `kind=period`: exactly this range, such as 2026-03-01/2026-03-31 */
        range?: string;
        /** `day`, `week` and `month` only for daily figures, `range` only for periods */
        group_by?: 'day' | 'week' | 'month' | 'range' | 'campaign' | 'ad_set' | 'ad' | 'platform' | 'client';
        /** Time by `key`, everything else by `spend` if it is not given */
        sort?: 'key' | 'impressions' | 'clicks' | 'link_clicks' | 'spend' | 'conversions' | 'conversion_value';
        order?: 'asc' | 'desc';
      };
      body: undefined;
      reply: unknown;
    };
  };
  '/api/data/lineage': {
    /** List the stored rows that sums consist of, each with its upload, file name and lines. Right: `upload.read`. */
    get: {
      path: undefined;
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
        /** `daily`, or `period` for reports without a day; the two are never added together */
        kind?: 'daily' | 'period';
        workspace_id?: string;
        /** `none` for figures without a client */
        client_id?: string | 'none';
        platform?: string;
        campaign_id?: string | 'none';
        /** Part of the campaign’s name, or its id at the platform */
        campaign?: string;
        ad_set_id?: string | 'none';
        ad_id?: string | 'none';
        /** `none` for figures without a currency */
        currency?: string;
        /** Only figures that are stated per campaign, ad set or ad */
        level?: 'campaign' | 'ad_set' | 'ad';
        /** Only figures that this upload created, confirmed or changed */
        upload_id?: string;
        /** First day */
        from?: string;
        /** Last day */
        to?: string;
        /** With `kind=period`: exactly this range, such as 2026-03-01/2026-03-31 */
        range?: string;
      };
      body: undefined;
      reply: {
        data: FigureLineage[];
        has_more: boolean;
        next_cursor: string | null;
        /** On the first page: what each upload contributes, at most 100 of them, newest first */
        uploads: {
          upload_id: string;
          filename: string | null;
          uploaded_at: string | null;
          currency: string | null;
          rows: number;
          impressions: number | null;
          clicks: number | null;
          link_clicks: number | null;
          spend: number | null;
          conversions: number | null;
          conversion_value: number | null;
        }[];
      };
    };
  };
  '/api/data/summary': {
    /** Add figures up by day, week, month, campaign, ad set, ad, platform or client; never across currencies. Right: `upload.read`. */
    get: {
      path: undefined;
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
        /** `daily`, or `period` for reports without a day; the two are never added together */
        kind?: 'daily' | 'period';
        workspace_id?: string;
        /** `none` for figures without a client */
        client_id?: string | 'none';
        platform?: string;
        campaign_id?: string | 'none';
        /** Part of the campaign’s name, or its id at the platform */
        campaign?: string;
        ad_set_id?: string | 'none';
        ad_id?: string | 'none';
        /** `none` for figures without a currency */
        currency?: string;
        /** Only figures that are stated per campaign, ad set or ad */
        level?: 'campaign' | 'ad_set' | 'ad';
        /** Only figures that this upload created, confirmed or changed */
        upload_id?: string;
        /** First day */
        from?: string;
        /** Last day */
        to?: string;
        /** With `kind=period`: exactly this range, such as 2026-03-01/2026-03-31 */
        range?: string;
        /** `day`, `week` and `month` only for daily figures, `range` only for periods */
        group_by?: 'day' | 'week' | 'month' | 'range' | 'campaign' | 'ad_set' | 'ad' | 'platform' | 'client';
        /** Time by `key`, everything else by `spend` if it is not given */
        sort?: 'key' | 'impressions' | 'clicks' | 'link_clicks' | 'spend' | 'conversions' | 'conversion_value';
        order?: 'asc' | 'desc';
      };
      body: undefined;
      reply: {
        data: FigureGroup[];
        has_more: boolean;
        next_cursor: string | null;
        totals: FigureTotal[];
        notes: {
          code: string;
          message: string;
        }[];
      };
    };
  };
  '/api/dead-letters': {
    /** List dead letters, newest first. Right: `dead_letter.read`. */
    get: {
      path: undefined;
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
        error_code?: string;
        pipeline?: string;
      };
      body: undefined;
      reply: {
        data: DeadLetter[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/dead-letters/requeue': {
    /** Requeue all dead letters that match, up to a limit. Right: `dead_letter.requeue`. */
    post: {
      path: undefined;
      query: undefined;
      body: {
        error_code?: string;
        pipeline?: string;
        limit?: number;
      };
      reply: {
        requeued: {
          job_id: string;
          requeued_from: string;
        }[];
        skipped: {
          job_id: string;
          code: string;
        }[];
      };
    };
  };
  '/api/dead-letters/{job_id}/requeue': {
    /** Create a new job from a dead letter, once. Right: `dead_letter.requeue`. */
    post: {
      path: {
        job_id: string;
      };
      query: undefined;
      body: {
        correlation_id?: string;
      } | null;
      reply: DeadLetter;
    };
  };
  '/api/demo': {
    /** Whether there is a demo. Right: `tenant.manage`. */
    get: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: {
        /** name_taken: a tenant of that name is somebody’s */
        state: 'absent' | 'present' | 'name_taken';
        tenant_id: string;
        name: string;
      };
    };
    /** Start the demo: one tenant with life in all five pipelines. Creates the tenant northwind with an Airbyte, a price service and a site of its own in this process. Only this tenant may call them. If the demo is there already, only a new login link is made. Right: `tenant.manage`. */
    post: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: {
        /** name_taken: a tenant of that name is somebody’s */
        state: 'absent' | 'present' | 'name_taken';
        tenant_id: string;
        name: string;
        /** Path and code that log in as its admin, once */
        login: string;
      };
    };
    /** Remove the demo and everything of it. Right: `tenant.manage`. */
    delete: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: null;
    };
  };
  '/api/events': {
    /** Read the audit log, oldest first or newest first. Right: `event.read`. */
    get: {
      path: undefined;
      query: {
        /** Only these types: repeated or separated by commas; `job.*` matches all that begin with `job.` */
        type?: string | string[];
        /** Only about this job, upload or hand-off */
        subject?: string;
        /** Only what comes after: the id of a frame of the stream or `next_cursor`, which are exact; or the id of an event, after which events that were written at the same time may come once more */
        after?: string;
        /** `newest` is for looking: an event that commits late may appear between those already shown */
        order?: 'oldest' | 'newest';
        /** With `order=newest`: only events before the one with this id */
        before?: string;
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
      };
      body: undefined;
      reply: {
        data: Event[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/events/stream': {
    /** Follow the audit log live. Server-sent events: `id` is where to continue (the browser sends it as Last-Event-ID by itself), `event` the type, `data` the envelope. Without Last-Event-ID and `after` the stream starts now. Right: `event.read`. */
    get: {
      path: undefined;
      query: {
        /** Only these types: repeated or separated by commas; `job.*` matches all that begin with `job.` */
        type?: string | string[];
        /** Only about this job, upload or hand-off */
        subject?: string;
        /** Only what comes after: the id of a frame of the stream or `next_cursor`, which are exact; or the id of an event, after which events that were written at the same time may come once more */
        after?: string;
      };
      body: undefined;
      reply: string;
    };
  };
  '/api/hooks/airbyte/{secret}': {
    /** Receive Airbyte’s notifications: a hint that a run has ended, which Airbyte then confirms */
    post: {
      path: {
        secret: string;
      };
      query: undefined;
      body: unknown;
      reply: {
        received: boolean;
      };
    };
  };
  '/api/ingestion/adapters': {
    /** List adapters by name. Right: `adapter.read`. */
    get: {
      path: undefined;
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
      };
      body: undefined;
      reply: {
        data: Adapter[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/ingestion/adapters/{name}': {
    /** Get an adapter. Right: `adapter.read`. */
    get: {
      path: {
        name: string;
      };
      query: undefined;
      body: undefined;
      reply: Adapter;
    };
    /** Create or change an adapter: a folder, an S3 prefix or an FTP directory to scan. Right: `adapter.manage`. */
    put: {
      path: {
        name: string;
      };
      query: undefined;
      body: {
        kind: 'folder';
        /** Inside the tenant’s folder in ADAPTER_FOLDER; empty: that folder itself */
        path?: string;
        /** What a file becomes: an item job or an upload */
        target: {
          kind: 'items';
          /** Null: the default processor for each kind of file */
          processor?: string | null;
          options?: Record<string, unknown>;
        } | {
          kind: 'uploads';
          /** A platform that uploads know; GET /api/uploads/platforms lists them */
          platform: string;
          workspace_id: string;
        };
        /** Which file names to ingest: `*` matches anything, `?` one character */
        pattern?: string | null;
        /** Null: only scanned on request */
        every_minutes?: number | null;
        /** `move`: to `done/` or `failed/` beside it, once the file is processed */
        after?: 'leave' | 'move';
        /** How long a file must stay unchanged before it is read */
        settle_seconds?: number;
      } | {
        kind: 's3';
        /** Null: Amazon’s endpoint for the region */
        endpoint?: string | null;
        region?: string;
        bucket: string;
        /** The start of the keys, for example `in/` */
        prefix?: string;
        path_style?: boolean;
        /** The name of one of the tenant’s secrets (PUT /api/secrets/{name}) */
        access_key_id_secret: string;
        /** The name of one of the tenant’s secrets (PUT /api/secrets/{name}) */
        secret_access_key_secret: string;
        /** What a file becomes: an item job or an upload */
        target: {
          kind: 'items';
          /** Null: the default processor for each kind of file */
          processor?: string | null;
          options?: Record<string, unknown>;
        } | {
          kind: 'uploads';
          /** A platform that uploads know; GET /api/uploads/platforms lists them */
          platform: string;
          workspace_id: string;
        };
        /** Which file names to ingest: `*` matches anything, `?` one character */
        pattern?: string | null;
        /** Null: only scanned on request */
        every_minutes?: number | null;
        /** `move`: to `done/` or `failed/` beside it, once the file is processed */
        after?: 'leave' | 'move';
        /** How long a file must stay unchanged before it is read */
        settle_seconds?: number;
      } | {
        kind: 'ftp';
        /** A host name or an IP address */
        host: string;
        port?: number;
        path?: string;
        user?: string;
        /** The name of one of the tenant’s secrets (PUT /api/secrets/{name}) */
        password_secret: string;
        /** Explicit FTPS; false sends the password unencrypted */
        tls?: boolean;
        /** PEM, for a server whose certificate is not signed by a public authority */
        ca_certificate?: string | null;
        /** What a file becomes: an item job or an upload */
        target: {
          kind: 'items';
          /** Null: the default processor for each kind of file */
          processor?: string | null;
          options?: Record<string, unknown>;
        } | {
          kind: 'uploads';
          /** A platform that uploads know; GET /api/uploads/platforms lists them */
          platform: string;
          workspace_id: string;
        };
        /** Which file names to ingest: `*` matches anything, `?` one character */
        pattern?: string | null;
        /** Null: only scanned on request */
        every_minutes?: number | null;
        /** `move`: to `done/` or `failed/` beside it, once the file is processed */
        after?: 'leave' | 'move';
        /** How long a file must stay unchanged before it is read */
        settle_seconds?: number;
      };
      reply: Adapter;
    };
    /** Delete an adapter and its records of files; the files and their jobs stay. Right: `adapter.manage`. */
    delete: {
      path: {
        name: string;
      };
      query: undefined;
      body: undefined;
      reply: null;
    };
  };
  '/api/ingestion/adapters/{name}/check': {
    /** Test an adapter: connect and list a few files; nothing is ingested. Right: `adapter.manage`. */
    post: {
      path: {
        name: string;
      };
      query: undefined;
      body: undefined;
      reply: AdapterCheck;
    };
  };
  '/api/ingestion/adapters/{name}/files': {
    /** List the files that an adapter has found, newest first, with the outcome of each. Right: `adapter.read`. */
    get: {
      path: {
        name: string;
      };
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
        state?: 'waiting' | 'ingested' | 'duplicate' | 'failed';
      };
      body: undefined;
      reply: {
        data: AdapterFile[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/ingestion/adapters/{name}/files/{file_id}/retry': {
    /** Retry a failed file; a scan follows automatically. Right: `adapter.scan`. */
    post: {
      path: {
        name: string;
        file_id: string;
      };
      query: undefined;
      body: undefined;
      reply: AdapterFile;
    };
  };
  '/api/ingestion/jobs/{id}/cancel': {
    /** Cancel a run and remove what it added. Right: `knowledge.ingest`. */
    post: {
      path: {
        /** A kb_id or a job_id */
        id: string;
      };
      query: undefined;
      body: undefined;
      reply: KnowledgeRun;
    };
  };
  '/api/ingestion/jobs/{id}/pause': {
    /** Pause a run; what is committed stays. Right: `knowledge.ingest`. */
    post: {
      path: {
        /** A kb_id or a job_id */
        id: string;
      };
      query: undefined;
      body: undefined;
      reply: KnowledgeRun;
    };
  };
  '/api/ingestion/jobs/{id}/resume': {
    /** Resume a paused run from its checkpoint. Right: `knowledge.ingest`. */
    post: {
      path: {
        /** A kb_id or a job_id */
        id: string;
      };
      query: undefined;
      body: undefined;
      reply: KnowledgeRun;
    };
  };
  '/api/ingestion/jobs/{id}/start': {
    /** Start a run of a knowledge base; 409 with the active job if there is one. Right: `knowledge.ingest`. */
    post: {
      path: {
        /** A kb_id or a job_id */
        id: string;
      };
      query: undefined;
      body: {
        /** The run pauses when the budget is used up */
        budget?: {
          max_tokens?: number;
          max_cost?: number;
        };
      } | null;
      reply: StartedKnowledgeRun;
    };
  };
  '/api/ingestion/jobs/{id}/status': {
    /** Get the state of a run: the last one of a knowledge base, or the one of a job. Right: `knowledge.read`. */
    get: {
      path: {
        /** A kb_id or a job_id */
        id: string;
      };
      query: undefined;
      body: undefined;
      reply: KnowledgeRun;
    };
  };
  '/api/ingestion/scan': {
    /** Scan one adapter or all of them now; each file that no longer changes is ingested once. A file is ingested when two scans in a row find it unchanged and it has not changed for `settle_seconds`; S3 objects appear whole and are ingested at once. Right: `adapter.scan`. */
    post: {
      path: undefined;
      query: undefined;
      body: {
        adapter?: string;
      } | null;
      reply: {
        data: AdapterScan[];
      };
    };
  };
  '/api/items/preview': {
    /** Read a file of rows as a job would, and show its columns, its first rows and what was repaired. Right: `item.create`. */
    post: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: FilePreview;
    };
  };
  '/api/items/templates': {
    /** List the saved templates of item jobs that the caller may use. Right: `item.read`. */
    get: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: {
        data: ItemTemplate[];
      };
    };
  };
  '/api/items/templates/{name}': {
    /** Save a template of item jobs: processor, options and mapping; at most 200. Right: `item.templates`. */
    put: {
      path: {
        name: string;
      };
      query: undefined;
      body: {
        processor: string;
        options?: Record<string, unknown>;
        mapping?: Record<string, string | null> | null;
      };
      reply: ItemTemplate;
    };
    /** Delete a saved template; jobs that were made with it stay. Right: `item.templates`. */
    delete: {
      path: {
        name: string;
      };
      query: undefined;
      body: undefined;
      reply: null;
    };
  };
  '/api/items/try': {
    /** Run the first 5 rows of a file through the processor, for real, without making a job. Right: `item.create`. */
    post: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: TriedRows;
    };
  };
  '/api/jobs': {
    /** List jobs, newest first. Right: `job.read`. */
    get: {
      path: undefined;
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
        status?: 'queued' | 'running' | 'paused' | 'failed' | 'dead_letter' | 'success' | 'canceled';
        pipeline?: string;
        subjectId?: string;
      };
      body: undefined;
      reply: {
        data: Job[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
    /** Create a job from a file of rows, several images or a ZIP of images: multipart with processor, options and file, or JSON with a fileRef. Right: `item.create`. */
    post: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: {
        jobId: string;
        notes?: RowNote[];
      };
    };
  };
  '/api/jobs/count': {
    /** Count the jobs that match, up to 10000. Right: `job.read`. */
    get: {
      path: undefined;
      query: {
        status?: 'queued' | 'running' | 'paused' | 'failed' | 'dead_letter' | 'success' | 'canceled';
        pipeline?: string;
        subjectId?: string;
      };
      body: undefined;
      reply: {
        count: number;
        /** False: there are more */
        isExact: boolean;
      };
    };
  };
  '/api/jobs/preview': {
    /** Read a file as a job would, and run its first rows (`rows`, at most 20); nothing is kept. Right: `item.create`. */
    post: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: JobPreview;
    };
  };
  '/api/jobs/{job_id}': {
    /** Get a job. Right: `job.read`. */
    get: {
      path: {
        job_id: string;
      };
      query: undefined;
      body: undefined;
      reply: Job;
    };
    /** Delete an ended items job with its rows, results and files. Right: `item.control`. */
    delete: {
      path: {
        job_id: string;
      };
      query: undefined;
      body: undefined;
      reply: null;
    };
  };
  '/api/jobs/{job_id}/cancel': {
    /** Cancel a job; what it added is cleaned up. Right: `job.control`. */
    post: {
      path: {
        job_id: string;
      };
      query: undefined;
      body: undefined;
      reply: Job;
    };
  };
  '/api/jobs/{job_id}/corrections': {
    /** Values that people corrected, newest first; at most 500. Right: `item.read`. */
    get: {
      path: {
        job_id: string;
      };
      query: undefined;
      body: undefined;
      reply: {
        data: Correction[];
      };
    };
  };
  '/api/jobs/{job_id}/export': {
    /** Export the grid as a file: CSV, XLSX or Parquet. Right: `item.read`. */
    post: {
      path: {
        job_id: string;
      };
      query: {
        format?: 'csv' | 'xlsx' | 'parquet';
        /** Also the columns of the file, as input.NAME */
        input?: 'true' | 'false';
        /** Also why rows failed: error_code and last_error */
        reasons?: 'true' | 'false';
        /** Only these columns, in this order: columns=sku&columns=price */
        columns?: string | string[];
      };
      body: undefined;
      reply: unknown;
    };
  };
  '/api/jobs/{job_id}/failures': {
    /** Failed rows grouped by reason, with what to do about each. Right: `item.read`. */
    get: {
      path: {
        job_id: string;
      };
      query: undefined;
      body: undefined;
      reply: {
        data: FailureGroup[];
      };
    };
  };
  '/api/jobs/{job_id}/items': {
    /** List the rows of an items job: by page, or by keyset when `after`, `statuses` or `fromRow` is given, or another order than that of the file. Right: `item.read`. */
    get: {
      path: {
        job_id: string;
      };
      query: {
        status?: 'PENDING' | 'PROCESSING' | 'DONE' | 'ERROR' | 'NOT_FOUND' | 'SKIPPED';
        statuses?: string;
        page?: number;
        pageSize?: number;
        /** rowNo, or with - from the end; by keyset also status, updatedAt (not with DONE), attempts (with minAttempts), errorCode (with statuses=ERROR,NOT_FOUND) and nextAttemptAt (with statuses=PENDING) */
        sort?: 'rowNo' | '-rowNo' | 'status' | '-status' | 'updatedAt' | '-updatedAt' | 'attempts' | '-attempts' | 'errorCode' | '-errorCode' | 'nextAttemptAt' | '-nextAttemptAt';
        /** List by keyset the rows with at least so many tries, the most first */
        minAttempts?: number;
        after?: string;
        /** List by keyset, starting at this row of the file */
        fromRow?: number;
        /** List by keyset the failed rows with this reason, as GET …/failures names it */
        errorCode?: string;
        /** Whether to include the input of each row */
        input?: 'true' | 'false';
      };
      body: undefined;
      reply: {
        data: Record<string, unknown>[];
        [name: string]: unknown;
      };
    };
  };
  '/api/jobs/{job_id}/items/{item_id}': {
    /** Get one row: its input, its well-known fields under their standard names, and its result. Right: `item.read`. */
    get: {
      path: {
        job_id: string;
        item_id: number;
      };
      query: undefined;
      body: undefined;
      reply: {
        id: string;
        normalized: Record<string, unknown>;
        [name: string]: unknown;
      };
    };
    /** Correct values of a row, and process the row again: returns the row, or with `column` its job. Right: `item.control`. */
    patch: {
      path: {
        job_id: string;
        item_id: number;
      };
      query: undefined;
      body: {
        input: Record<string, string | number | boolean | null>;
      } | {
        column: string;
        value: string | number | boolean | null;
      };
      reply: ItemJob | {
        id: string;
        status: string;
        [name: string]: unknown;
      };
    };
  };
  '/api/jobs/{job_id}/items/{item_id}/calls': {
    /** List the provider calls made for a row, newest first. Right: `item.read`. */
    get: {
      path: {
        job_id: string;
        item_id: number;
      };
      query: undefined;
      body: undefined;
      reply: {
        data: {
          provider: string;
          strategy: string;
          status: number | null;
          outcome: string;
          error: string | null;
          tookMs: number;
          createdAt: string;
        }[];
      };
    };
  };
  '/api/jobs/{job_id}/items/{item_id}/image': {
    /** Download the original image of an item. Right: `item.read`. */
    get: {
      path: {
        job_id: string;
        item_id: number;
      };
      query: undefined;
      body: undefined;
      reply: unknown;
    };
  };
  '/api/jobs/{job_id}/items/{item_id}/thumbnail': {
    /** Get the thumbnail of an image: WebP, at most 160 pixels wide and high. Right: `item.read`. */
    get: {
      path: {
        job_id: string;
        item_id: number;
      };
      query: undefined;
      body: undefined;
      reply: unknown;
    };
  };
  '/api/jobs/{job_id}/kickoff': {
    /** Run a job for a limited time within this request. Right: `job.control`. */
    post: {
      path: {
        job_id: string;
      };
      query: {
        durationMs?: number;
      };
      body: undefined;
      reply: {
        processed: number;
        remaining: number | null;
        elapsedMs: number;
        queueState: 'QUEUED' | 'RUNNING' | 'PAUSED' | 'DONE' | 'FAILED';
        leasedBy: string | null;
      };
    };
  };
  '/api/jobs/{job_id}/pause': {
    /** Pause a job; the slice in flight may still finish. Right: `job.control`. */
    post: {
      path: {
        job_id: string;
      };
      query: undefined;
      body: undefined;
      reply: Job;
    };
  };
  '/api/jobs/{job_id}/reprocess': {
    /** Reprocess rows: failed ones, or selected ones. Right: `item.control`. */
    post: {
      path: {
        job_id: string;
      };
      query: undefined;
      body: {
        scope?: 'job' | 'items';
        itemIds?: string[];
        statuses?: ('DONE' | 'ERROR' | 'NOT_FOUND' | 'SKIPPED')[];
        /** Only rows that failed for this reason, as GET …/failures names it */
        errorCode?: string;
        resetAttempts?: boolean;
      };
      reply: ReprocessedJob;
    };
  };
  '/api/jobs/{job_id}/resume': {
    /** Resume a paused job. Right: `job.control`. */
    post: {
      path: {
        job_id: string;
      };
      query: undefined;
      body: undefined;
      reply: Job;
    };
  };
  '/api/knowledge': {
    /** Create a knowledge base with its sources; it is empty until its first run. Right: `knowledge.manage`. */
    post: {
      path: undefined;
      query: undefined;
      body: {
        name: string;
        /** How texts are divided into chunks; default: by headings */
        chunker?: {
          strategy: 'markdown';
          max_tokens?: number;
          /** A paragraph of fewer tokens is joined with its neighbours; default: a quarter of max_tokens */
          min_tokens?: number;
          /** Whether a chunk is embedded together with the title and headings above it */
          context?: 'headings' | 'none';
        } | {
          strategy: 'recursive';
          max_tokens?: number;
          /** A paragraph of fewer tokens is joined with its neighbours; default: a quarter of max_tokens */
          min_tokens?: number;
          /** Whether a chunk is embedded together with the title and headings above it */
          context?: 'headings' | 'none';
        } | {
          strategy: 'fixed';
          max_tokens?: number;
          overlap_tokens?: number;
          /** Whether a chunk is embedded together with the title and headings above it */
          context?: 'headings' | 'none';
        };
        /** What turns texts into vectors; default: the built-in embedder */
        embedder?: {
          provider: 'local';
          /** A built-in model; default: the current one, also after an upgrade */
          model?: 'all-minilm-l6-v2-q8' | 'use-lite-en-q7';
        } | {
          provider: 'openai';
          base_url?: string;
          model: string;
          dimensions?: number | null;
          /** Name of a stored secret */
          api_key_secret?: string | null;
          price_per_million_tokens?: number;
        } | {
          provider: 'custom';
          name: string;
        };
        reranker?: {
          provider: 'endpoint';
          /** The whole address, such as https://api.cohere.com/v2/rerank */
          url: string;
          model: string;
          /** Name of a stored secret */
          api_key_secret?: string | null;
          /** How many of the best passages it orders anew */
          candidates?: number;
        } | {
          provider: 'custom';
          name: string;
          /** How many of the best passages it orders anew */
          candidates?: number;
        } | null;
        /** The language of the texts, for searches by words; default: english */
        language?: 'simple' | 'arabic' | 'armenian' | 'basque' | 'catalan' | 'danish' | 'dutch' | 'english' | 'finnish' | 'french' | 'german' | 'greek' | 'hindi' | 'hungarian' | 'indonesian' | 'irish' | 'italian' | 'lithuanian' | 'nepali' | 'norwegian' | 'portuguese' | 'romanian' | 'russian' | 'serbian' | 'spanish' | 'swedish' | 'tamil' | 'turkish' | 'yiddish';
        kb_id?: string;
        sources?: ({
          type: 'markdown';
          content: string;
          title?: string;
        } | {
          type: 'text';
          content: string;
          title?: string;
        } | {
          type: 'html';
          content: string;
          title?: string;
        } | {
          type: 'folder';
          /** Relative to the tenant’s folder below KNOWLEDGE_FOLDER_ROOT */
          path: string;
          /** Metadata and access of the documents, by their paths */
          rules?: {
            /** Of the path of a page or file; default: all documents */
            path_prefix?: string;
            /** Fields with a text, a number, true, false or a list of those; null hides a field that the document itself has. The field allow is the access list */
            metadata?: Record<string, string | number | boolean | (string | number | boolean)[] | null>;
            /** Groups whose members may see the document; ["*"]: everybody, []: only those who see all documents */
            allow?: string[];
          }[];
        } | {
          type: 'website';
          url: string;
          max_pages?: number;
          max_depth?: number;
          /** Only pages whose path starts with one of these */
          include?: string[];
          /** Leaves out pages whose path starts with one of these */
          exclude?: string[];
          /** Also read the pages listed in the sitemap */
          sitemap?: boolean;
          /** Metadata and access of the documents, by their paths */
          rules?: {
            /** Of the path of a page or file; default: all documents */
            path_prefix?: string;
            /** Fields with a text, a number, true, false or a list of those; null hides a field that the document itself has. The field allow is the access list */
            metadata?: Record<string, string | number | boolean | (string | number | boolean)[] | null>;
            /** Groups whose members may see the document; ["*"]: everybody, []: only those who see all documents */
            allow?: string[];
          }[];
        } | {
          type: 's3';
          /** Absent: Amazon’s endpoint for the region */
          endpoint?: string | null;
          region?: string;
          bucket: string;
          /** The start of the keys, for example `handbook/` */
          prefix?: string;
          /** The bucket in the path, as MinIO wants it */
          path_style?: boolean;
          /** Name of a stored secret */
          access_key_id_secret: string;
          /** Name of a stored secret */
          secret_access_key_secret: string;
          /** Metadata and access of the documents, by their paths */
          rules?: {
            /** Of the path of a page or file; default: all documents */
            path_prefix?: string;
            /** Fields with a text, a number, true, false or a list of those; null hides a field that the document itself has. The field allow is the access list */
            metadata?: Record<string, string | number | boolean | (string | number | boolean)[] | null>;
            /** Groups whose members may see the document; ["*"]: everybody, []: only those who see all documents */
            allow?: string[];
          }[];
        } | {
          type: 'zip';
          /** Where the archive is downloaded */
          url?: string;
          /** Or where it lies in the tenant’s folder below KNOWLEDGE_FOLDER_ROOT */
          path?: string;
          /** Metadata and access of the documents, by their paths */
          rules?: {
            /** Of the path of a page or file; default: all documents */
            path_prefix?: string;
            /** Fields with a text, a number, true, false or a list of those; null hides a field that the document itself has. The field allow is the access list */
            metadata?: Record<string, string | number | boolean | (string | number | boolean)[] | null>;
            /** Groups whose members may see the document; ["*"]: everybody, []: only those who see all documents */
            allow?: string[];
          }[];
        } | {
          type: 'git';
          /** What `git clone` takes, over http or https */
          url: string;
          /** A branch or tag; absent: the branch that the repository shows first */
          ref?: string | null;
          /** Only files in this folder of the repository */
          path?: string;
          /** Sent with the token; most servers ignore it */
          username?: string;
          token_secret?: string | null;
          /** Metadata and access of the documents, by their paths */
          rules?: {
            /** Of the path of a page or file; default: all documents */
            path_prefix?: string;
            /** Fields with a text, a number, true, false or a list of those; null hides a field that the document itself has. The field allow is the access list */
            metadata?: Record<string, string | number | boolean | (string | number | boolean)[] | null>;
            /** Groups whose members may see the document; ["*"]: everybody, []: only those who see all documents */
            allow?: string[];
          }[];
        } | {
          type: 'youtube';
          url: string;
          language?: string;
        })[];
      };
      reply: KnowledgeBase;
    };
    /** List knowledge bases by id, each with the state of its last run. Right: `knowledge.read`. */
    get: {
      path: undefined;
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
      };
      body: undefined;
      reply: {
        data: KnowledgeBase[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/knowledge/search': {
    /** Search all knowledge bases, or some of them, and count what was found by base, format and metadata. Right: `knowledge.search`. */
    post: {
      path: undefined;
      query: undefined;
      body: {
        query: string;
        /** Default: all */
        kb_ids?: string[];
        limit?: number;
        mode?: 'vector' | 'text' | 'hybrid';
        /** Only documents whose metadata match: {field: value | [values] | {eq, in, gt, gte, lt, lte, exists}}. Several fields must all match; combine filters with $and, $or (lists) and $not */
        filter?: Record<string, unknown>;
        /** Fields of the metadata to count, beside base and format */
        facets?: string[];
        /** Makes one result of neighbouring passages of a document */
        merge?: boolean;
        /** Adds to each result its sentence that is nearest in meaning; asks the embedder once more */
        sentences?: boolean;
        /** False: does not ask the reranker of the knowledge base */
        rerank?: boolean;
      };
      reply: KnowledgeResultsOfAll;
    };
  };
  '/api/knowledge/{kb_id}': {
    /** Get a knowledge base. Right: `knowledge.read`. */
    get: {
      path: {
        kb_id: string;
      };
      query: undefined;
      body: undefined;
      reply: KnowledgeBase;
    };
    /** Change a knowledge base; a new chunker or embedder takes effect with the next run. Right: `knowledge.manage`. */
    patch: {
      path: {
        kb_id: string;
      };
      query: undefined;
      body: {
        name?: string;
        /** How texts are divided into chunks; default: by headings */
        chunker?: {
          strategy: 'markdown';
          max_tokens?: number;
          /** A paragraph of fewer tokens is joined with its neighbours; default: a quarter of max_tokens */
          min_tokens?: number;
          /** Whether a chunk is embedded together with the title and headings above it */
          context?: 'headings' | 'none';
        } | {
          strategy: 'recursive';
          max_tokens?: number;
          /** A paragraph of fewer tokens is joined with its neighbours; default: a quarter of max_tokens */
          min_tokens?: number;
          /** Whether a chunk is embedded together with the title and headings above it */
          context?: 'headings' | 'none';
        } | {
          strategy: 'fixed';
          max_tokens?: number;
          overlap_tokens?: number;
          /** Whether a chunk is embedded together with the title and headings above it */
          context?: 'headings' | 'none';
        };
        /** What turns texts into vectors; default: the built-in embedder */
        embedder?: {
          provider: 'local';
          /** A built-in model; default: the current one, also after an upgrade */
          model?: 'all-minilm-l6-v2-q8' | 'use-lite-en-q7';
        } | {
          provider: 'openai';
          base_url?: string;
          model: string;
          dimensions?: number | null;
          /** Name of a stored secret */
          api_key_secret?: string | null;
          price_per_million_tokens?: number;
        } | {
          provider: 'custom';
          name: string;
        };
        reranker?: {
          provider: 'endpoint';
          /** The whole address, such as https://api.cohere.com/v2/rerank */
          url: string;
          model: string;
          /** Name of a stored secret */
          api_key_secret?: string | null;
          /** How many of the best passages it orders anew */
          candidates?: number;
        } | {
          provider: 'custom';
          name: string;
          /** How many of the best passages it orders anew */
          candidates?: number;
        } | null;
        /** The language of the texts, for searches by words; default: english */
        language?: 'simple' | 'arabic' | 'armenian' | 'basque' | 'catalan' | 'danish' | 'dutch' | 'english' | 'finnish' | 'french' | 'german' | 'greek' | 'hindi' | 'hungarian' | 'indonesian' | 'irish' | 'italian' | 'lithuanian' | 'nepali' | 'norwegian' | 'portuguese' | 'romanian' | 'russian' | 'serbian' | 'spanish' | 'swedish' | 'tamil' | 'turkish' | 'yiddish';
      };
      reply: KnowledgeBase;
    };
    /** Delete a knowledge base without an active run; the contents of a large one are deleted in the background. Right: `knowledge.manage`. */
    delete: {
      path: {
        kb_id: string;
      };
      query: undefined;
      body: undefined;
      reply: null;
    };
  };
  '/api/knowledge/{kb_id}/documents': {
    /** Add files; a file with a known name replaces the earlier one and keeps its metadata and access. Beside files the form may have the fields `metadata` (JSON: fields with texts, numbers, true, false or lists of those) and `allow` (JSON: a list of groups). Both hold for all files of the form. Right: `knowledge.ingest`. */
    post: {
      path: {
        kb_id: string;
      };
      query: {
        /** Where the files come from, to tell them apart later; shown with each file */
        origin?: string;
      };
      body: undefined;
      reply: {
        files: KnowledgeFile[];
      };
    };
    /** List the documents that runs have found, with their states. Right: `knowledge.read`. */
    get: {
      path: {
        kb_id: string;
      };
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
        state?: 'indexed' | 'empty' | 'error' | 'gone';
        /** A filter over the metadata, as JSON; see the field `filter` of a search */
        filter?: string;
      };
      body: undefined;
      reply: {
        data: KnowledgeDocument[];
        has_more: boolean;
        next_cursor: string | null;
        /** Fields of the filter that no document has */
        notes?: string[];
      };
    };
    /** Delete the files whose documents match a filter, at most 500 at a time, while no run is active. Right: `knowledge.ingest`. */
    delete: {
      path: {
        kb_id: string;
      };
      query: {
        /** Needed */
        filter?: string;
      };
      body: undefined;
      reply: {
        deleted: number;
        /** Matching documents of other sources: the next run would bring them back */
        kept: number;
        /** More files match; repeat the request */
        has_more: boolean;
      };
    };
  };
  '/api/knowledge/{kb_id}/documents/{document_id}': {
    /** Get a document. Right: `knowledge.read`. */
    get: {
      path: {
        kb_id: string;
        document_id: string;
      };
      query: undefined;
      body: undefined;
      reply: KnowledgeDocument;
    };
    /** Change metadata and access of a document; both hold at once and through later runs. Right: `knowledge.ingest`. */
    patch: {
      path: {
        kb_id: string;
        document_id: string;
      };
      query: undefined;
      body: {
        /** Fields with a text, a number, true, false or a list of those; null hides a field that the document itself has. The field allow is the access list */
        metadata?: Record<string, string | number | boolean | (string | number | boolean)[] | null>;
        /** Groups whose members may see the document; ["*"]: everybody, []: only those who see all documents */
        allow?: string[];
      };
      reply: KnowledgeDocument;
    };
    /** Delete a file and its indexed document while no run is active; also accepts a file_id. Right: `knowledge.ingest`. */
    delete: {
      path: {
        kb_id: string;
        document_id: string;
      };
      query: undefined;
      body: undefined;
      reply: null;
    };
  };
  '/api/knowledge/{kb_id}/documents/{document_id}/passages': {
    /** List the passages of a document in order. Right: `knowledge.read`. */
    get: {
      path: {
        kb_id: string;
        document_id: string;
      };
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
        /** Start two passages before the one at this character; not together with cursor */
        around?: number;
      };
      body: undefined;
      reply: {
        data: KnowledgePassage[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/knowledge/{kb_id}/evaluations': {
    /** Ask questions with known answers, keep the scores, and compare with the last build of the index. Right: `knowledge.ingest`. */
    post: {
      path: {
        kb_id: string;
      };
      query: undefined;
      body: {
        questions: {
          query: string;
          /** URIs of the documents that should be found; with a grade, higher is better */
          relevant: (string | {
            uri: string;
            grade: number;
          })[];
        }[];
        mode?: 'vector' | 'text' | 'hybrid';
        k?: number;
      };
      reply: ComparedKnowledgeEvaluation;
    };
    /** List the evaluations of a knowledge base, newest first; the last 100 are kept. Right: `knowledge.ingest`. */
    get: {
      path: {
        kb_id: string;
      };
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
      };
      body: undefined;
      reply: {
        data: KnowledgeEvaluation[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/knowledge/{kb_id}/files': {
    /** List the added files by name. Right: `knowledge.read`. */
    get: {
      path: {
        kb_id: string;
      };
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
      };
      body: undefined;
      reply: {
        data: KnowledgeFile[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/knowledge/{kb_id}/plan': {
    /** Estimate what a run would do and cost, without calling the embedder. Right: `knowledge.ingest`. */
    get: {
      path: {
        kb_id: string;
      };
      query: undefined;
      body: undefined;
      reply: KnowledgePlan;
    };
  };
  '/api/knowledge/{kb_id}/search': {
    /** Search a knowledge base by meaning, by words, or by both. Right: `knowledge.search`. */
    post: {
      path: {
        kb_id: string;
      };
      query: undefined;
      body: {
        query: string;
        limit?: number;
        mode?: 'vector' | 'text' | 'hybrid';
        /** Only documents whose metadata match: {field: value | [values] | {eq, in, gt, gte, lt, lte, exists}}. Several fields must all match; combine filters with $and, $or (lists) and $not */
        filter?: Record<string, unknown>;
        /** Adds to each result how its score came about */
        explain?: boolean;
        /** Makes one result of neighbouring passages of a document */
        merge?: boolean;
        /** Adds to each result its sentence that is nearest in meaning; asks the embedder once more */
        sentences?: boolean;
        /** False: does not ask the reranker of the knowledge base */
        rerank?: boolean;
      };
      reply: KnowledgeResults;
    };
  };
  '/api/knowledge/{kb_id}/sources': {
    /** Add a source; the next run loads it. Right: `knowledge.manage`. */
    post: {
      path: {
        kb_id: string;
      };
      query: undefined;
      body: {
        type: 'markdown';
        content: string;
        title?: string;
      } | {
        type: 'text';
        content: string;
        title?: string;
      } | {
        type: 'html';
        content: string;
        title?: string;
      } | {
        type: 'folder';
        /** Relative to the tenant’s folder below KNOWLEDGE_FOLDER_ROOT */
        path: string;
        /** Metadata and access of the documents, by their paths */
        rules?: {
          /** Of the path of a page or file; default: all documents */
          path_prefix?: string;
          /** Fields with a text, a number, true, false or a list of those; null hides a field that the document itself has. The field allow is the access list */
          metadata?: Record<string, string | number | boolean | (string | number | boolean)[] | null>;
          /** Groups whose members may see the document; ["*"]: everybody, []: only those who see all documents */
          allow?: string[];
        }[];
      } | {
        type: 'website';
        url: string;
        max_pages?: number;
        max_depth?: number;
        /** Only pages whose path starts with one of these */
        include?: string[];
        /** Leaves out pages whose path starts with one of these */
        exclude?: string[];
        /** Also read the pages listed in the sitemap */
        sitemap?: boolean;
        /** Metadata and access of the documents, by their paths */
        rules?: {
          /** Of the path of a page or file; default: all documents */
          path_prefix?: string;
          /** Fields with a text, a number, true, false or a list of those; null hides a field that the document itself has. The field allow is the access list */
          metadata?: Record<string, string | number | boolean | (string | number | boolean)[] | null>;
          /** Groups whose members may see the document; ["*"]: everybody, []: only those who see all documents */
          allow?: string[];
        }[];
      } | {
        type: 's3';
        /** Absent: Amazon’s endpoint for the region */
        endpoint?: string | null;
        region?: string;
        bucket: string;
        /** The start of the keys, for example `handbook/` */
        prefix?: string;
        /** The bucket in the path, as MinIO wants it */
        path_style?: boolean;
        /** Name of a stored secret */
        access_key_id_secret: string;
        /** Name of a stored secret */
        secret_access_key_secret: string;
        /** Metadata and access of the documents, by their paths */
        rules?: {
          /** Of the path of a page or file; default: all documents */
          path_prefix?: string;
          /** Fields with a text, a number, true, false or a list of those; null hides a field that the document itself has. The field allow is the access list */
          metadata?: Record<string, string | number | boolean | (string | number | boolean)[] | null>;
          /** Groups whose members may see the document; ["*"]: everybody, []: only those who see all documents */
          allow?: string[];
        }[];
      } | {
        type: 'zip';
        /** Where the archive is downloaded */
        url?: string;
        /** Or where it lies in the tenant’s folder below KNOWLEDGE_FOLDER_ROOT */
        path?: string;
        /** Metadata and access of the documents, by their paths */
        rules?: {
          /** Of the path of a page or file; default: all documents */
          path_prefix?: string;
          /** Fields with a text, a number, true, false or a list of those; null hides a field that the document itself has. The field allow is the access list */
          metadata?: Record<string, string | number | boolean | (string | number | boolean)[] | null>;
          /** Groups whose members may see the document; ["*"]: everybody, []: only those who see all documents */
          allow?: string[];
        }[];
      } | {
        type: 'git';
        /** What `git clone` takes, over http or https */
        url: string;
        /** A branch or tag; absent: the branch that the repository shows first */
        ref?: string | null;
        /** Only files in this folder of the repository */
        path?: string;
        /** Sent with the token; most servers ignore it */
        username?: string;
        token_secret?: string | null;
        /** Metadata and access of the documents, by their paths */
        rules?: {
          /** Of the path of a page or file; default: all documents */
          path_prefix?: string;
          /** Fields with a text, a number, true, false or a list of those; null hides a field that the document itself has. The field allow is the access list */
          metadata?: Record<string, string | number | boolean | (string | number | boolean)[] | null>;
          /** Groups whose members may see the document; ["*"]: everybody, []: only those who see all documents */
          allow?: string[];
        }[];
      } | {
        type: 'youtube';
        url: string;
        language?: string;
      };
      reply: KnowledgeSource;
    };
    /** List the sources of a knowledge base, oldest first, without their texts. Right: `knowledge.read`. */
    get: {
      path: {
        kb_id: string;
      };
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
      };
      body: undefined;
      reply: {
        data: KnowledgeSource[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/knowledge/{kb_id}/sources/{source_id}': {
    /** Get a source. Right: `knowledge.read`. */
    get: {
      path: {
        kb_id: string;
        source_id: string;
      };
      query: undefined;
      body: undefined;
      reply: KnowledgeSource;
    };
    /** Delete a source while no run is active; the next run removes its documents from the index. Right: `knowledge.manage`. */
    delete: {
      path: {
        kb_id: string;
        source_id: string;
      };
      query: undefined;
      body: undefined;
      reply: null;
    };
  };
  '/api/me': {
    /** Who you are, your tenant, plan and rights. Right: `tenant.read_own`. */
    get: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: Me;
    };
  };
  '/api/me/api-keys': {
    /** List the API keys that work and that you, or keys of yours, have made. Right: `session.end`. */
    get: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: {
        data: ApiKey[];
      };
    };
  };
  '/api/me/api-keys/{key_id}': {
    /** Revoke one of your API keys. Right: `session.end`. */
    delete: {
      path: {
        key_id: string;
      };
      query: undefined;
      body: undefined;
      reply: null;
    };
  };
  '/api/me/sessions': {
    /** List your open sessions, the newest first. Right: `session.end`. */
    get: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: {
        data: OwnSession[];
      };
    };
    /** End all your sessions but the one of this request. Right: `session.end`. */
    delete: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: {
        ended: number;
      };
    };
  };
  '/api/me/sessions/{session_id}': {
    /** End one of your sessions. Right: `session.end`. */
    delete: {
      path: {
        session_id: string;
      };
      query: undefined;
      body: undefined;
      reply: null;
    };
  };
  '/api/pending': {
    /** List open rows across all items jobs, least recently updated first. Right: `item.read`. */
    get: {
      path: undefined;
      query: {
        statuses?: string;
        userId?: 'me' | 'all';
        jobType?: 'csv' | 'image';
        jobId?: string;
        updatedFrom?: string;
        updatedTo?: string;
        pageSize?: number;
        after?: string;
      };
      body: undefined;
      reply: {
        data: {
          id: string;
          jobId: string;
          userId: string;
          jobType: string;
          status: 'PENDING' | 'PROCESSING' | 'DONE' | 'ERROR' | 'NOT_FOUND' | 'SKIPPED';
          attempts: number;
          lockedBy: string | null;
          lockedAt: string | null;
          updatedAt: string;
          inputSummary: {
            title: string | null;
            brand: string | null;
            sku: string | null;
            first: {
              name: string;
              value: string;
            }[];
          };
          progress: {
            processed: number;
            total: number;
          };
        }[];
        hasMore: boolean;
        nextCursor: string | null;
        pendingCount: number;
      };
    };
  };
  '/api/period-metrics': {
    /** List figures of reports without a day, by their first day. Right: `upload.read`. */
    get: {
      path: undefined;
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
        workspace_id?: string;
        platform?: string;
        /** Only rows that this upload created, or was the last to confirm or change */
        upload_id?: string;
        client_id?: string;
        campaign_id?: string;
        /** First day */
        from?: string;
        /** Last day */
        to?: string;
      };
      body: undefined;
      reply: {
        data: PeriodMetric[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/period-metrics/breakdowns': {
    /** List the lines of reports with a breakdown that period figures are the sums of. Right: `upload.read`. */
    get: {
      path: undefined;
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
        workspace_id?: string;
        platform?: string;
        /** Only rows that this upload created, or was the last to confirm or change */
        upload_id?: string;
        client_id?: string;
        campaign_id?: string;
        /** First day */
        from?: string;
        /** Last day */
        to?: string;
      };
      body: undefined;
      reply: {
        data: MetricBreakdown[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/providers': {
    /** List the providers that items call: pace, breaker, calls and cost of today, settings. Right: `item.read`. */
    get: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: {
        data: Provider[];
      };
    };
  };
  '/api/providers/{host}': {
    /** Set rate, concurrency, daily budget and timeout of a provider; what is absent is not limited. Right: `provider.manage`. */
    put: {
      path: {
        host: string;
      };
      query: undefined;
      body: {
        rate_per_second?: number | null;
        concurrency?: number | null;
        daily_budget?: number | null;
        timeout_ms?: number | null;
        cost_per_call?: number | null;
      };
      reply: Provider;
    };
  };
  '/api/scraping/sources': {
    /** List scrape sources by name, each with its last run. Right: `scrape.read`. */
    get: {
      path: undefined;
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
      };
      body: undefined;
      reply: {
        data: ScrapeSource[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/scraping/sources/{source}': {
    /** Get a scrape source. Right: `scrape.read`. */
    get: {
      path: {
        source: string;
      };
      query: undefined;
      body: undefined;
      reply: ScrapeSource;
    };
    /** Create or change a scrape source. Right: `scrape.manage`. */
    put: {
      path: {
        source: string;
      };
      query: undefined;
      body: {
        mode: 'push';
        /** The knowledge base that receives the references */
        kb_id: string;
      } | {
        mode: 'crawl';
        /** The knowledge base that receives the references */
        kb_id: string;
        /** Where the crawl starts: a page, a sitemap or a feed */
        url: string;
        kind?: 'website' | 'sitemap' | 'feed';
        max_pages?: number;
        max_depth?: number;
        /** Only pages whose path starts with one of these */
        include?: string[];
        /** Leaves out pages whose path starts with one of these */
        exclude?: string[];
        /** How often the crawl starts by itself; left out: only when somebody starts it */
        every_hours?: number | null;
        /** Websites only: also read the pages listed in the sitemap */
        sitemap?: boolean;
      };
      reply: ScrapeSource;
    };
    /** Delete a scrape source with its references and hand-offs; its runs are kept as history. Right: `scrape.manage`. */
    delete: {
      path: {
        source: string;
      };
      query: undefined;
      body: undefined;
      reply: null;
    };
  };
  '/api/scraping/{source}/handoffs': {
    /** List hand-offs, newest first; 503 while hand-offs are disabled. Right: `scrape.read`. */
    get: {
      path: {
        source: string;
      };
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
        /** For numbered pages; not together with cursor */
        offset?: number;
        status?: 'queued' | 'running' | 'completed' | 'failed';
        /** Only hand-offs that this run opened */
        scrape_run_id?: string;
      };
      body: undefined;
      reply: {
        data: IngestionHandoff[];
        /** Number of matching hand-offs on all pages */
        total: number;
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/scraping/{source}/references': {
    /** List references, newest first. Right: `scrape.read`. */
    get: {
      path: {
        source: string;
      };
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
      };
      body: undefined;
      reply: {
        data: ScrapeReference[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/scraping/{source}/runs': {
    /** List runs of a source, newest first. Right: `scrape.read`. */
    get: {
      path: {
        source: string;
      };
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
      };
      body: undefined;
      reply: {
        data: ScrapeRun[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/scraping/{source}/runs/{scrape_run_id}': {
    /** Get a run and the current state of its hand-offs. Right: `scrape.read`. */
    get: {
      path: {
        source: string;
        scrape_run_id: string;
      };
      query: undefined;
      body: undefined;
      reply: ScrapeRunWithHandoffs;
    };
  };
  '/api/scraping/{source}/sync': {
    /** Store the pushed references and hand them over (200), or start the crawl (202). Right: `scrape.sync`. */
    post: {
      path: {
        source: string;
      };
      query: undefined;
      body: {
        references?: {
          /** The scraper’s id of the reference; sending the same id again changes it */
          external_id: string;
          url: string;
          title?: string | null;
          /** Markdown, unless media_type says otherwise */
          content: string;
          /** Media type of the content; default: text/markdown */
          media_type?: 'text/markdown' | 'text/plain' | 'text/html';
          metadata?: Record<string, unknown> | null;
        }[];
      } | null;
      reply: ScrapeSync;
    };
  };
  '/api/search': {
    /** Find anything by name or id. Finds uploads, jobs, knowledge bases, documents, connectors, sources, adapters, webhooks, campaigns and more whose name or id has all the words, as far as the caller may see them. An id finds its thing however old it is; words look through the newest 5,000 things of each kind. For what documents say, use `POST /api/knowledge/search`. Right: `tenant.read_own`. */
    get: {
      path: undefined;
      query: {
        /** Words of a name, or an id */
        q: string;
        limit?: number;
      };
      body: undefined;
      reply: {
        data: {
          /** upload, job, knowledge_base, document, connector, … */
          kind: string;
          id: string;
          name: string;
          /** Its page in the console, from the root of the server */
          url: string;
        }[];
      };
    };
  };
  '/api/secrets': {
    /** List the names of the secrets that you may use; the secrets are never shown. Right: `secret.use`. */
    get: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: {
        data: {
          name: string;
          hosts: string[];
          roles: string[];
          uses: string[] | null;
          /** It cannot be used before it is stored again with its hosts */
          needs_hosts: boolean;
          updated_by: string;
          updated_at: string;
        }[];
      };
    };
  };
  '/api/secrets/{name}': {
    /** Store a secret, encrypted, for the hosts that it may be sent to; it can be replaced but not read. Right: `secret.manage`. */
    put: {
      path: {
        name: string;
      };
      query: undefined;
      body: {
        value: string;
        /** Where it may be sent: `host` (all its ports) or `host:port`; redirects elsewhere do not carry it */
        hosts: string[];
        /** Who may use it beside admins, services and operators: `member` */
        roles?: ('member' | 'admin' | 'service' | 'operator')[];
        /** What may use it, such as `processor:http` or `embedder:openai`; null: everything */
        uses?: string[] | null;
      };
      reply: null;
    };
    /** Change who and what may use a secret; its hosts change only together with its value (PUT). Right: `secret.manage`. */
    patch: {
      path: {
        name: string;
      };
      query: undefined;
      body: {
        /** Who may use it beside admins, services and operators: `member` */
        roles?: ('member' | 'admin' | 'service' | 'operator')[];
        /** What may use it, such as `processor:http` or `embedder:openai`; null: everything */
        uses?: string[] | null;
      };
      reply: null;
    };
    /** Remove a secret. Right: `secret.manage`. */
    delete: {
      path: {
        name: string;
      };
      query: undefined;
      body: undefined;
      reply: null;
    };
  };
  '/api/session': {
    /** Start a session with a token or an API key; the response sets the cookie */
    post: {
      path: undefined;
      query: undefined;
      body: {
        /** A JSON Web Token or an API key */
        token: string;
      };
      reply: Session;
    };
  };
  '/api/session/logout': {
    /** End the session of the cookie; a token stays valid until it expires. Right: `session.end`. */
    post: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: null;
    };
  };
  '/api/stats/connectors': {
    /** Success rate, average duration and retries of each connector. Right: `stats.read`. */
    get: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: {
        data: {
          connector_id: string;
          jobs: number;
          success_rate: number | null;
          average_duration_seconds: number | null;
          retries_by_class: Record<string, number>;
        }[];
      };
    };
  };
  '/api/stats/dead-letters': {
    /** Dead letters by error code. Right: `stats.read`. */
    get: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: {
        data: {
          error_code: string | null;
          count: number;
          requeued: number;
          oldest_at: string | null;
          newest_at: string | null;
        }[];
      };
    };
  };
  '/api/stats/jobs': {
    /** Jobs by pipeline and status. Right: `stats.read`. */
    get: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: {
        data: {
          pipeline: string;
          status: string;
          count: number;
          oldest_at: string;
        }[];
      };
    };
  };
  '/api/stats/overview': {
    /** What needs you, what is in progress, and the last 24 hours (a member: only their own). Right: `stats.read`. */
    get: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: Overview;
    };
  };
  '/api/stats/stuck-jobs': {
    /** Jobs that have made no progress for two hours. Right: `stats.read`. */
    get: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: {
        data: {
          job_id: string;
          pipeline: string;
          subject_id: string;
          connector_id: string | null;
          started_at: string;
          since: string;
        }[];
      };
    };
  };
  '/api/stats/upkeep': {
    /** Upkeep tasks with their last run and result. Right: `stats.read`. */
    get: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: {
        data: {
          task: string;
          next_run_at: string;
          last_started_at: string | null;
          last_finished_at: string | null;
          last_result: Record<string, number> | null;
          last_error: string | null;
        }[];
      };
    };
  };
  '/api/stats/workers': {
    /** Processes that advance jobs. Right: `stats.read`. */
    get: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: {
        data: {
          worker_id: string;
          name: string;
          guarded_by: 'lock' | 'expiry';
          concurrency: number;
          version: string;
          started_at: string;
          heartbeat_at: string;
          is_alive: boolean;
          leases: number;
        }[];
      };
    };
  };
  '/api/syncs': {
    /** List syncs, newest first. Right: `connector.read`. */
    get: {
      path: undefined;
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
        status?: 'queued' | 'running' | 'paused' | 'failed' | 'dead_letter' | 'success' | 'canceled';
        connector_id?: string;
        error_code?: string;
      };
      body: undefined;
      reply: {
        data: Sync[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/syncs/{job_id}': {
    /** Get a sync. Right: `connector.read`. */
    get: {
      path: {
        job_id: string;
      };
      query: undefined;
      body: undefined;
      reply: Sync;
    };
  };
  '/api/tasks': {
    /** List the pipelines and tasks that are defined here. Right: `job.read`. */
    get: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: {
        data: Task[];
      };
    };
  };
  '/api/tasks/{name}': {
    /** Dispatch a pipeline or a task. Right: `job.control`. */
    post: {
      path: {
        name: string;
      };
      query: undefined;
      body: {
        /** What the schema of the task allows */
        input: unknown;
        /** One active job of a subject at a time */
        subjectId?: string;
        /** Not before */
        runAt?: string;
      };
      reply: {
        jobId: string;
      };
    };
  };
  '/api/tenants': {
    /** List tenants: an operator sees all, everybody else only their own. Right: `tenant.read_own`. */
    get: {
      path: undefined;
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
      };
      body: undefined;
      reply: {
        data: Tenant[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
    /** Create a tenant with its first workspace. Right: `tenant.manage`. */
    post: {
      path: undefined;
      query: undefined;
      body: {
        tenant_id: string;
        name?: string;
        plan?: 'free' | 'growth' | 'enterprise';
      };
      reply: Tenant;
    };
  };
  '/api/tenants/{tenant_id}': {
    /** Get a tenant. Right: `tenant.read_own`. */
    get: {
      path: {
        tenant_id: string;
      };
      query: undefined;
      body: undefined;
      reply: Tenant;
    };
    /** Change a tenant’s name, plan or limits. Right: `tenant.manage`. */
    patch: {
      path: {
        tenant_id: string;
      };
      query: undefined;
      body: {
        name?: string;
        plan?: 'free' | 'growth' | 'enterprise';
        /** Replaces all limits */
        limits?: {
          /** Slices that run at once */
          concurrent_jobs?: number;
          /** Slices of one workspace that run at once */
          concurrent_jobs_per_workspace?: number;
          /** Jobs that wait */
          queued_jobs?: number;
          /** Rows that are not processed yet */
          open_items?: number;
          /** Days for which ended jobs are kept */
          job_retention_days?: number;
        };
      };
      reply: Tenant;
    };
    /** Erase a tenant with everything that belongs to it, and prove it. Right: `tenant.manage`. */
    delete: {
      path: {
        tenant_id: string;
      };
      query: undefined;
      body: undefined;
      reply: {
        tenant_id: string;
        erased: Record<string, number>;
        files_removed: number;
        remaining: Record<string, number>;
      };
    };
  };
  '/api/uploads': {
    /** Upload an ad report: multipart with the fields and a file, or JSON with a file_ref. Right: `upload.create`. */
    post: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: {
        /** The first one */
        upload_id: string;
        status: 'pending' | 'processing' | 'staging_complete' | 'promoting' | 'completed' | 'partial' | 'failed';
        /** One for each report: a ZIP archive may hold several */
        uploads: {
          upload_id: string;
          filename: string | null;
        }[];
      };
    };
    /** List uploads, newest first. Right: `upload.read`. */
    get: {
      path: undefined;
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
        workspace_id?: string;
        status?: 'pending' | 'processing' | 'staging_complete' | 'promoting' | 'completed' | 'partial' | 'failed';
        platform?: string;
        /** Part of the file name */
        filename?: string;
      };
      body: undefined;
      reply: {
        data: Upload[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/uploads/mappings': {
    /** List the saved column mappings by platform. Right: `upload.read`. */
    get: {
      path: undefined;
      query: {
        platform?: string;
      };
      body: undefined;
      reply: {
        data: UploadMapping[];
      };
    };
    /** Replace the saved column mapping of a platform. Right: `upload.control`. */
    put: {
      path: undefined;
      query: undefined;
      body: {
        platform: string;
        mapping: Record<string, 'metric_date' | 'period_start' | 'period_end' | 'campaign_id' | 'campaign_name' | 'campaign_status' | 'campaign_type' | 'ad_set_id' | 'ad_set_name' | 'ad_set_status' | 'ad_id' | 'ad_name' | 'ad_status' | 'impressions' | 'clicks' | 'link_clicks' | 'reach' | 'spend' | 'conversions' | 'conversion_value' | 'currency' | null>;
      };
      reply: UploadMapping;
    };
  };
  '/api/uploads/platforms': {
    /** List the platforms whose reports can be uploaded. Right: `upload.read`. */
    get: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: {
        data: UploadPlatformSummary[];
      };
    };
  };
  '/api/uploads/platforms/{name}': {
    /** Get the profile of a platform. Right: `upload.read`. */
    get: {
      path: {
        name: string;
      };
      query: undefined;
      body: undefined;
      reply: UploadPlatform;
    };
    /** Define a platform of the tenant’s own, or a new version of it. Right: `upload.platforms`. */
    put: {
      path: {
        name: string;
      };
      query: undefined;
      body: {
        /** What people call it; by default its name */
        title?: string;
        /** For people: what its figures mean */
        notes?: string;
        /** Column names of its reports: field to names, or language to field to names */
        aliases: Record<string, Record<string, string[] | string>> | Record<string, string[] | string>;
        /** Paths of members in its JSON, such as metrics.cost */
        api?: Record<string, string[] | string>;
        /** Of these, amounts in millionths of the currency */
        micros?: string[];
        /** Columns that are not read and that only its reports have */
        marks?: string[];
        /** Columns that its reports are broken down by */
        dimensions?: string[];
        /** A row without any name or id is a total */
        blank_names_are_totals?: boolean;
        /** Labels of total rows, besides the usual ones */
        total_labels?: string[];
        /** Null: the file decides */
        decimal_mark?: '.' | ',' | null;
        /** Null: the file decides */
        date_order?: 'dmy' | 'mdy' | null;
        /** How to get a report by day */
        daily_advice?: string;
      };
      reply: UploadPlatform;
    };
    /** Delete a platform of the tenant’s own; its uploads stay. Right: `upload.platforms`. */
    delete: {
      path: {
        name: string;
      };
      query: undefined;
      body: undefined;
      reply: null;
    };
  };
  '/api/uploads/sources': {
    /** Create a source that reports are pulled from on a schedule. Right: `source.manage`. */
    post: {
      path: undefined;
      query: undefined;
      body: {
        /** Unique among the sources of the tenant */
        name: string;
        client_id?: string | null;
        /** Where the reports are */
        place: {
          kind: 'url';
          /** May hold {date_from} and {date_to}, which become the days that a pull asks for */
          url: string;
          auth?: {
            type: 'none';
          } | {
            type: 'bearer';
            /** The name of one of the tenant’s secrets (PUT /api/secrets/{name}) */
            secret: string;
          } | {
            type: 'basic';
            user: string;
            /** The name of one of the tenant’s secrets (PUT /api/secrets/{name}) */
            password_secret: string;
          } | {
            type: 'header';
            name: string;
            /** The name of one of the tenant’s secrets (PUT /api/secrets/{name}) */
            secret: string;
          };
        } | {
          kind: 's3';
          /** Null: Amazon’s endpoint for the region */
          endpoint?: string | null;
          region?: string;
          bucket: string;
          /** The start of the keys, for example `in/` */
          prefix?: string;
          path_style?: boolean;
          /** The name of one of the tenant’s secrets (PUT /api/secrets/{name}) */
          access_key_id_secret: string;
          /** The name of one of the tenant’s secrets (PUT /api/secrets/{name}) */
          secret_access_key_secret: string;
          /** Which file names to ingest: `*` matches anything, `?` one character */
          pattern?: string | null;
        } | {
          kind: 'ftp';
          /** A host name or an IP address */
          host: string;
          port?: number;
          path?: string;
          user?: string;
          /** The name of one of the tenant’s secrets (PUT /api/secrets/{name}) */
          password_secret: string;
          /** Explicit FTPS; false sends the password unencrypted */
          tls?: boolean;
          /** PEM, for a server whose certificate is not signed by a public authority */
          ca_certificate?: string | null;
          /** Which file names to ingest: `*` matches anything, `?` one character */
          pattern?: string | null;
        } | {
          kind: 'meta';
          /** The ad account, with or without act_ */
          account_id: string;
          /** The name of one of the tenant’s secrets (PUT /api/secrets/{name}) */
          access_token_secret: string;
          /** Where the app requires a proof of its secret with every call */
          app_secret_secret?: string | null;
          /** What each line is about, per day; more lines take longer */
          level?: 'campaign' | 'ad_set' | 'ad';
          /** Meta prepares the report first; without it a large one is refused as too much data */
          report_run?: boolean;
          /** Of the platform’s API */
          api_version?: string;
          /** Another address for a proxy or a test; secrets are bound to its host */
          endpoint?: string;
        } | {
          kind: 'google';
          /** The account, with or without dashes */
          customer_id: string;
          login_customer_id?: string | null;
          /** Of the OAuth client */
          client_id: string;
          /** The name of one of the tenant’s secrets (PUT /api/secrets/{name}) */
          client_secret_secret: string;
          /** The name of one of the tenant’s secrets (PUT /api/secrets/{name}) */
          refresh_token_secret: string;
          /** The name of one of the tenant’s secrets (PUT /api/secrets/{name}) */
          developer_token_secret: string;
          /** What each line is about, per day. Performance Max and some other campaigns have figures only per campaign */
          level?: 'campaign' | 'ad_set' | 'ad';
          /** Of the platform’s API */
          api_version?: string;
          /** Another address for a proxy or a test; secrets are bound to its host */
          endpoint?: string;
          /** Another address for a proxy or a test; secrets are bound to its host */
          token_endpoint?: string;
        } | {
          kind: 'tiktok';
          /** The advertiser */
          advertiser_id: string;
          /** The name of one of the tenant’s secrets (PUT /api/secrets/{name}) */
          access_token_secret: string;
          /** What each line is about, per day; more lines take longer */
          level?: 'campaign' | 'ad_set' | 'ad';
          /** Of the platform’s API */
          api_version?: string;
          /** Another address for a proxy or a test; secrets are bound to its host */
          endpoint?: string;
        };
        /** How many days up to yesterday each pull asks for, so that late conversions replace earlier figures */
        restate_days?: number;
        /** False: pulled only on request */
        enabled?: boolean;
        /** Null: as often as the plan allows */
        cadence_hours?: number | null;
        /** Five fields, such as `0 6 * * *`; instead of cadence_hours */
        cron?: string | null;
        /** Of the ad account: it decides which day is yesterday, and when cron is due */
        time_zone?: string;
        workspace_id: string;
        /** How the reports are read; GET /api/uploads/platforms lists them. An API’s own need not be given */
        platform?: string;
      };
      reply: UploadSource;
    };
    /** List the sources that reports are pulled from, by name, each with its last pull. Right: `source.read`. */
    get: {
      path: undefined;
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
      };
      body: undefined;
      reply: {
        data: UploadSource[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/uploads/sources/{source_id}': {
    /** Get a source. Right: `source.read`. */
    get: {
      path: {
        source_id: string;
      };
      query: undefined;
      body: undefined;
      reply: UploadSource;
    };
    /** Change a source; its workspace, platform and kind of place stay. Right: `source.manage`. */
    patch: {
      path: {
        source_id: string;
      };
      query: undefined;
      body: {
        /** Unique among the sources of the tenant */
        name?: string;
        client_id?: string | null;
        /** Where the reports are; replaced as a whole */
        place?: {
          kind: 'url';
          /** May hold {date_from} and {date_to}, which become the days that a pull asks for */
          url: string;
          auth?: {
            type: 'none';
          } | {
            type: 'bearer';
            /** The name of one of the tenant’s secrets (PUT /api/secrets/{name}) */
            secret: string;
          } | {
            type: 'basic';
            user: string;
            /** The name of one of the tenant’s secrets (PUT /api/secrets/{name}) */
            password_secret: string;
          } | {
            type: 'header';
            name: string;
            /** The name of one of the tenant’s secrets (PUT /api/secrets/{name}) */
            secret: string;
          };
        } | {
          kind: 's3';
          /** Null: Amazon’s endpoint for the region */
          endpoint?: string | null;
          region?: string;
          bucket: string;
          /** The start of the keys, for example `in/` */
          prefix?: string;
          path_style?: boolean;
          /** The name of one of the tenant’s secrets (PUT /api/secrets/{name}) */
          access_key_id_secret: string;
          /** The name of one of the tenant’s secrets (PUT /api/secrets/{name}) */
          secret_access_key_secret: string;
          /** Which file names to ingest: `*` matches anything, `?` one character */
          pattern?: string | null;
        } | {
          kind: 'ftp';
          /** A host name or an IP address */
          host: string;
          port?: number;
          path?: string;
          user?: string;
          /** The name of one of the tenant’s secrets (PUT /api/secrets/{name}) */
          password_secret: string;
          /** Explicit FTPS; false sends the password unencrypted */
          tls?: boolean;
          /** PEM, for a server whose certificate is not signed by a public authority */
          ca_certificate?: string | null;
          /** Which file names to ingest: `*` matches anything, `?` one character */
          pattern?: string | null;
        } | {
          kind: 'meta';
          /** The ad account, with or without act_ */
          account_id: string;
          /** The name of one of the tenant’s secrets (PUT /api/secrets/{name}) */
          access_token_secret: string;
          /** Where the app requires a proof of its secret with every call */
          app_secret_secret?: string | null;
          /** What each line is about, per day; more lines take longer */
          level?: 'campaign' | 'ad_set' | 'ad';
          /** Meta prepares the report first; without it a large one is refused as too much data */
          report_run?: boolean;
          /** Of the platform’s API */
          api_version?: string;
          /** Another address for a proxy or a test; secrets are bound to its host */
          endpoint?: string;
        } | {
          kind: 'google';
          /** The account, with or without dashes */
          customer_id: string;
          login_customer_id?: string | null;
          /** Of the OAuth client */
          client_id: string;
          /** The name of one of the tenant’s secrets (PUT /api/secrets/{name}) */
          client_secret_secret: string;
          /** The name of one of the tenant’s secrets (PUT /api/secrets/{name}) */
          refresh_token_secret: string;
          /** The name of one of the tenant’s secrets (PUT /api/secrets/{name}) */
          developer_token_secret: string;
          /** What each line is about, per day. Performance Max and some other campaigns have figures only per campaign */
          level?: 'campaign' | 'ad_set' | 'ad';
          /** Of the platform’s API */
          api_version?: string;
          /** Another address for a proxy or a test; secrets are bound to its host */
          endpoint?: string;
          /** Another address for a proxy or a test; secrets are bound to its host */
          token_endpoint?: string;
        } | {
          kind: 'tiktok';
          /** The advertiser */
          advertiser_id: string;
          /** The name of one of the tenant’s secrets (PUT /api/secrets/{name}) */
          access_token_secret: string;
          /** What each line is about, per day; more lines take longer */
          level?: 'campaign' | 'ad_set' | 'ad';
          /** Of the platform’s API */
          api_version?: string;
          /** Another address for a proxy or a test; secrets are bound to its host */
          endpoint?: string;
        };
        /** How many days up to yesterday each pull asks for, so that late conversions replace earlier figures */
        restate_days?: number;
        /** False: pulled only on request */
        enabled?: boolean;
        /** Null: as often as the plan allows */
        cadence_hours?: number | null;
        /** Five fields, such as `0 6 * * *`; instead of cadence_hours */
        cron?: string | null;
        /** Of the ad account: it decides which day is yesterday, and when cron is due */
        time_zone?: string;
      };
      reply: UploadSource;
    };
    /** Delete a source that is not being pulled; its uploads stay. Right: `source.manage`. */
    delete: {
      path: {
        source_id: string;
      };
      query: undefined;
      body: undefined;
      reply: null;
    };
  };
  '/api/uploads/sources/{source_id}/pull': {
    /** Pull now: the last days, or others; 409 with the active job when there is one. Right: `source.pull`. */
    post: {
      path: {
        source_id: string;
      };
      query: undefined;
      body: {
        /** Days further back than restate_days, such as the first months */
        date_from?: string;
        date_to?: string;
      } | null;
      reply: UploadPull;
    };
  };
  '/api/uploads/{upload_id}': {
    /** Get an upload. Right: `upload.read`. */
    get: {
      path: {
        upload_id: string;
      };
      query: undefined;
      body: undefined;
      reply: Upload;
    };
  };
  '/api/uploads/{upload_id}/cancel': {
    /** Cancel an upload that is not yet being promoted. Right: `upload.control`. */
    post: {
      path: {
        upload_id: string;
      };
      query: undefined;
      body: undefined;
      reply: Upload;
    };
  };
  '/api/uploads/{upload_id}/corrections': {
    /** Correct cells of refused rows of a held upload; the file is read again with them and the upload stays held. Right: `upload.control`. */
    post: {
      path: {
        upload_id: string;
      };
      query: undefined;
      body: {
        rows: {
          row_index: number;
          cells: Record<string, string>;
        }[];
      };
      reply: Upload;
    };
    /** Take corrections of a held upload back, of one row or of all; the file is read again. Right: `upload.control`. */
    delete: {
      path: {
        upload_id: string;
      };
      query: {
        row_index?: number;
      };
      body: undefined;
      reply: Upload;
    };
    /** List the corrected cells of an upload: what the file says, what was read instead, who and when. Right: `upload.read`. */
    get: {
      path: {
        upload_id: string;
      };
      query: undefined;
      body: undefined;
      reply: {
        data: UploadCorrection[];
      };
    };
  };
  '/api/uploads/{upload_id}/corrections.csv': {
    /** Download the corrected cells of an upload as CSV. Right: `upload.read`. */
    get: {
      path: {
        upload_id: string;
      };
      query: undefined;
      body: undefined;
      reply: unknown;
    };
  };
  '/api/uploads/{upload_id}/mapping': {
    /** Map the columns of a held upload, or give its range; the file is read again and the upload stays held. Right: `upload.control`. */
    put: {
      path: {
        upload_id: string;
      };
      query: undefined;
      body: {
        mapping?: Record<string, 'metric_date' | 'period_start' | 'period_end' | 'campaign_id' | 'campaign_name' | 'campaign_status' | 'campaign_type' | 'ad_set_id' | 'ad_set_name' | 'ad_set_status' | 'ad_id' | 'ad_name' | 'ad_status' | 'impressions' | 'clicks' | 'link_clicks' | 'reach' | 'spend' | 'conversions' | 'conversion_value' | 'currency' | null>;
        date_from?: string;
        date_to?: string;
      };
      reply: Upload;
    };
  };
  '/api/uploads/{upload_id}/preview': {
    /** Preview what promoting a held upload would create, update and leave unchanged. Right: `upload.read`. */
    get: {
      path: {
        upload_id: string;
      };
      query: undefined;
      body: undefined;
      reply: UploadPreview;
    };
  };
  '/api/uploads/{upload_id}/problems': {
    /** List why rows were refused: reasons with fix and example rows, most frequent first. Right: `upload.read`. */
    get: {
      path: {
        upload_id: string;
      };
      query: undefined;
      body: undefined;
      reply: UploadProblems;
    };
  };
  '/api/uploads/{upload_id}/promote': {
    /** Promote an upload that is held for review. Right: `upload.control`. */
    post: {
      path: {
        upload_id: string;
      };
      query: undefined;
      body: {
        mapping?: Record<string, 'metric_date' | 'period_start' | 'period_end' | 'campaign_id' | 'campaign_name' | 'campaign_status' | 'campaign_type' | 'ad_set_id' | 'ad_set_name' | 'ad_set_status' | 'ad_id' | 'ad_name' | 'ad_status' | 'impressions' | 'clicks' | 'link_clicks' | 'reach' | 'spend' | 'conversions' | 'conversion_value' | 'currency' | null>;
        force_partial?: boolean;
        date_from?: string;
        date_to?: string;
      } | null;
      reply: Upload;
    };
  };
  '/api/uploads/{upload_id}/reconciliation': {
    /** Compare the sums of an upload: its lines, its own total row, what was promoted and what was refused. Right: `upload.read`. */
    get: {
      path: {
        upload_id: string;
      };
      query: undefined;
      body: undefined;
      reply: UploadReconciliation;
    };
  };
  '/api/uploads/{upload_id}/rejected.csv': {
    /** Download the refused rows as CSV with their reasons; the corrected file can be uploaded again. Right: `upload.read`. */
    get: {
      path: {
        upload_id: string;
      };
      query: undefined;
      body: undefined;
      reply: unknown;
    };
  };
  '/api/uploads/{upload_id}/rows': {
    /** List the staged rows of an upload in the order of the file. Right: `upload.read`. */
    get: {
      path: {
        upload_id: string;
      };
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
        validation_status?: 'pending' | 'valid' | 'invalid';
        entity_type?: 'campaign' | 'ad_set' | 'ad' | 'daily_metric' | 'period_metric';
        /** Only this line of the file */
        line?: number;
      };
      body: undefined;
      reply: {
        data: StagedRow[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/uploads/{upload_id}/undo': {
    /** Preview what undoing an upload would delete and keep. Right: `upload.read`. */
    get: {
      path: {
        upload_id: string;
      };
      query: undefined;
      body: undefined;
      reply: UndoPreview;
    };
    /** Undo an upload: delete what it created and no other upload uses. Right: `upload.control`. */
    post: {
      path: {
        upload_id: string;
      };
      query: undefined;
      body: undefined;
      reply: {
        upload: Upload;
        deleted: {
          campaigns: number;
          ad_sets: number;
          ads: number;
          daily_metrics: number;
          period_metrics: number;
          metric_breakdowns: number;
        };
        not_undone: {
          campaigns: number;
          ad_sets: number;
          ads: number;
          daily_metrics: number;
          period_metrics: number;
          metric_breakdowns: number;
        };
      };
    };
  };
  '/api/users': {
    /** List users. Right: `user.read`. */
    get: {
      path: undefined;
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
      };
      body: undefined;
      reply: {
        data: User[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/users/invitations': {
    /** Invite a person by a link that works once, within 7 days; who has not come yet gets a new one. Right: `user.manage`. */
    post: {
      path: undefined;
      query: undefined;
      body: {
        email?: string;
        /** Unset: the e-mail address, or without one a name that is made up */
        user_id?: string;
        name?: string;
        /** At most your own; an admin: member, admin or service */
        role?: 'member' | 'admin' | 'support' | 'service' | 'operator';
      };
      reply: Invitation;
    };
  };
  '/api/users/{user_id}': {
    /** Disable or enable a user with the keys behind which they are, or set the role; counts within ten seconds. Right: `user.manage`. */
    patch: {
      path: {
        user_id: string;
      };
      query: undefined;
      body: {
        disabled?: boolean;
        /** Until a newer token states another one; an admin: member, admin or service */
        role?: 'member' | 'admin' | 'support' | 'service' | 'operator';
        /** Admins can change the user again, until the next operator token; for operators only */
        operator?: false;
      };
      reply: User;
    };
    /** Remove a user with their sessions and keys; a valid token brings them back. Right: `user.manage`. */
    delete: {
      path: {
        user_id: string;
      };
      query: undefined;
      body: undefined;
      reply: null;
    };
  };
  '/api/webhook-deliveries/{delivery_id}': {
    /** Get a delivery: what is sent, and the result of each try. Right: `webhook.manage`. */
    get: {
      path: {
        delivery_id: string;
      };
      query: undefined;
      body: undefined;
      reply: WebhookDeliveryDetail;
    };
  };
  '/api/webhook-deliveries/{delivery_id}/resend': {
    /** Send a delivery again; a waiting one is tried now. It has the same webhook-id. A finished one does not hold up later events about the same subject. Right: `webhook.manage`. */
    post: {
      path: {
        delivery_id: string;
      };
      query: undefined;
      body: undefined;
      reply: WebhookDelivery;
    };
  };
  '/api/webhooks': {
    /** List webhook endpoints; never their secrets. Right: `webhook.manage`. */
    get: {
      path: undefined;
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
      };
      body: undefined;
      reply: {
        data: Webhook[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
    /** Send events to a URL from now on, signed as Standard Webhooks specifies. Right: `webhook.manage`. */
    post: {
      path: undefined;
      query: undefined;
      body: {
        url: string;
        event_types?: string[] | null;
        description?: string | null;
      };
      reply: WebhookWithSecret;
    };
  };
  '/api/webhooks/{webhook_id}': {
    /** Get a webhook endpoint. Right: `webhook.manage`. */
    get: {
      path: {
        webhook_id: string;
      };
      query: undefined;
      body: undefined;
      reply: Webhook;
    };
    /** Change a webhook endpoint. A disabled endpoint is sent nothing and goes on where it stood when it is enabled again. `enabled: true` also tries at once what waits for a retry. Right: `webhook.manage`. */
    patch: {
      path: {
        webhook_id: string;
      };
      query: undefined;
      body: {
        url?: string;
        /** Null: all types */
        event_types?: string[] | null;
        description?: string | null;
        enabled?: boolean;
      };
      reply: Webhook;
    };
    /** Remove a webhook endpoint and its deliveries. Right: `webhook.manage`. */
    delete: {
      path: {
        webhook_id: string;
      };
      query: undefined;
      body: undefined;
      reply: null;
    };
  };
  '/api/webhooks/{webhook_id}/deliveries': {
    /** List the deliveries of an endpoint, newest first. Right: `webhook.manage`. */
    get: {
      path: {
        webhook_id: string;
      };
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
        status?: 'pending' | 'delivered' | 'exhausted';
      };
      body: undefined;
      reply: {
        data: WebhookDelivery[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
  };
  '/api/webhooks/{webhook_id}/rotate-secret': {
    /** Create a new secret; for 24 hours the old one signs too. Right: `webhook.manage`. */
    post: {
      path: {
        webhook_id: string;
      };
      query: undefined;
      body: undefined;
      reply: WebhookWithSecret;
    };
  };
  '/api/webhooks/{webhook_id}/test': {
    /** Send a webhook.test event to this endpoint, once. Right: `webhook.manage`. */
    post: {
      path: {
        webhook_id: string;
      };
      query: undefined;
      body: undefined;
      reply: WebhookDelivery;
    };
  };
  '/api/worker/cycle': {
    /** Run one worker cycle: for your own tenant, or (operator) for all tenants. Right: `worker.cycle`. */
    post: {
      path: undefined;
      query: {
        budget_seconds?: number;
      };
      body: undefined;
      reply: {
        queued_processed: number;
        retry_processed: number;
      };
    };
  };
  '/api/workspaces': {
    /** List workspaces. Right: `workspace.read`. */
    get: {
      path: undefined;
      query: {
        /** How many at most */
        limit?: number;
        /** next_cursor of the previous page */
        cursor?: string;
      };
      body: undefined;
      reply: {
        data: Workspace[];
        has_more: boolean;
        next_cursor: string | null;
      };
    };
    /** Create a workspace. Right: `workspace.manage`. */
    post: {
      path: undefined;
      query: undefined;
      body: {
        name: string;
      };
      reply: Workspace;
    };
  };
  '/api/workspaces/{workspace_id}': {
    /** Rename a workspace. Right: `workspace.manage`. */
    patch: {
      path: {
        workspace_id: string;
      };
      query: undefined;
      body: {
        name: string;
      };
      reply: Workspace;
    };
    /** Delete an empty workspace. Right: `workspace.manage`. */
    delete: {
      path: {
        workspace_id: string;
      };
      query: undefined;
      body: undefined;
      reply: null;
    };
  };
  '/health/live': {
    /** Whether the process responds */
    get: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: {
        status: 'ok';
        version: string;
      };
    };
  };
  '/health/ready': {
    /** Whether database, migrations and storage are usable */
    get: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: Readiness;
    };
  };
  '/login': {
    /** Use a one-time login link */
    get: {
      path: undefined;
      query: {
        /** Of the link; without it a browser gets the login page */
        code?: string;
        /** Where to go afterwards: a path of this server */
        to?: string;
        /** For the login page: `link` when the link was refused, or the code of a refused sign-in */
        refused?: string;
      };
      body: undefined;
      reply: string | null;
    };
  };
  '/login/oidc': {
    /** Sign in with the login provider: leads there, and back to the callback */
    get: {
      path: undefined;
      query: {
        /** Where to go afterwards: a path of this server */
        to?: string;
      };
      body: undefined;
      reply: null;
    };
  };
  '/login/oidc/callback': {
    /** Where the login provider sends people back to; the response sets the session cookie */
    get: {
      path: undefined;
      query: {
        /** Of the provider, when it agrees */
        code?: string;
        /** As it was sent to the provider */
        state?: string;
        /** Of the provider, when it refuses */
        error?: string;
      };
      body: undefined;
      reply: null;
    };
  };
  '/login/ways': {
    /** How people can log in here, besides a login link and a token */
    get: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: SignInWays;
    };
  };
  '/metrics': {
    /** Metrics in the Prometheus text format. With METRICS_TOKEN as bearer; without one set, from this machine (a local Host, and no header of a proxy) or with an operator’s token. */
    get: {
      path: undefined;
      query: undefined;
      body: undefined;
      reply: string;
    };
  };
  '/v1/vector_stores/{vector_store_id}/search': {
    /** Search a knowledge base as a vector store of OpenAI. Right: `knowledge.search`. */
    post: {
      path: {
        /** A kb_id */
        vector_store_id: string;
      };
      query: undefined;
      body: {
        query: string | string[];
        max_num_results?: number;
        /** {type, key, value} with eq, ne, gt, gte, lt, lte, in or nin; or {type, filters} with and or or */
        filters?: Record<string, unknown> | null;
        ranking_options?: {
          /** none: without the reranker of the knowledge base; any other: with it */
          ranker?: string;
          score_threshold?: number;
        } | null;
        /** Accepted and ignored: queries are never rewritten */
        rewrite_query?: boolean;
      };
      reply: OpenAiSearchResults;
    };
  };
}
