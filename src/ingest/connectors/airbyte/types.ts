/** What Sluice knows of an Airbyte job: one sync of one connection. */
export interface AirbyteJob {
  /** Airbyte's `jobId`, an int64. As text, because a JavaScript number loses digits beyond 2^53. */
  runId: string;
  /** An open set: read it with `verdictOf`. */
  status: string;
  jobType: string;
  connectionId: string;
  /** Airbyte calls it `startTime`, but it is the creation time, however long the job was queued. */
  createdAt: Date;
  /** Only once the job has ended. */
  lastUpdatedAt: Date | null;
  durationSeconds: number | null;
  /** Committed at the destination. */
  bytesSynced: number | null;
  rowsSynced: number | null;
  /** Why its last attempt failed, where the server says so. */
  failure: { message: string; type: string | null } | null;
}

export interface AirbyteConnection {
  connectionId: string;
  name: string;
  /** `active`, `inactive`, `deprecated` (deleted), or what Airbyte may add. */
  status: string;
  workspaceId: string;
  /** `manual` is what Sluice needs: with any other, Airbyte's own scheduler triggers syncs as well. */
  scheduleType: string | null;
  sourceId: string | null;
  destinationId: string | null;
}

export interface AirbyteConnectionPage {
  connections: AirbyteConnection[];
  /** Whether there may be a next page. */
  hasMore: boolean;
}

/**
 * `definite`: it did not happen, because Airbyte refused it or because the request was never sent.
 * `ambiguous`: it may have happened. Look for the job before triggering a sync again.
 * The problem's class, not this type, says whether and when to try again.
 */
export type AirbyteAnswer<T> =
  | { type: 'ok'; value: T }
  | { type: 'definite'; problem: AirbyteProblem }
  | { type: 'ambiguous'; problem: AirbyteProblem };

export type AirbyteProblemClass =
  | 'auth'
  | 'rate_limit'
  | 'server_error'
  | 'timeout'
  | 'connection'
  | 'conflict'
  | 'address'
  | 'permanent';

/** The stable codes, with the class of each. */
export const airbyteProblemClasses = {
  /** 401, or Airbyte issued no token for the client's id and secret. */
  auth_error: 'auth',
  forbidden: 'auth',
  rate_limit: 'rate_limit',
  server_error: 'server_error',
  /** Our own time limit, or Airbyte's 408. */
  timeout: 'timeout',
  connection_error: 'connection',
  /** A sync is running on the connection: adopt it. */
  already_running: 'conflict',
  /** Look at the connection: it may be inactive or deleted. */
  state_conflict: 'conflict',
  /** Something responds, but it is not Airbyte's API: all syncs wait until somebody corrects the settings. */
  wrong_address: 'address',
  insufficient_credits: 'permanent',
  not_found: 'permanent',
  bad_request: 'permanent',
  /** A response that cannot be read. Proxies send such ones for a while, so it is retried like a 5xx. */
  bad_answer: 'server_error',
} as const satisfies Record<string, AirbyteProblemClass>;

export type AirbyteProblemCode = keyof typeof airbyteProblemClasses;

export interface AirbyteProblem {
  /** The status of the response; null when there was none. */
  status: number | null;
  code: AirbyteProblemCode;
  class: AirbyteProblemClass;
  /** For people. It never holds a token or secret. */
  message: string;
  /** How long Airbyte asked us to wait; null when it did not say. */
  retryAfterMs: number | null;
}

export type AirbyteCredentials =
  | { type: 'token'; token: string }
  | { type: 'client'; clientId: string; clientSecret: string }
  /** Of older self-managed servers. */
  | { type: 'basic'; username: string; password: string };

export interface AirbyteSettings {
  /** Such as https://api.airbyte.com/v1. It may be a private address if the operator chose it. */
  baseUrl: string;
  credentials: AirbyteCredentials;
  userAgent: string;
  /** True where a tenant chose the address. */
  blockPrivateAddresses?: boolean;
  /** For `POST /jobs`, which itself waits up to a minute for a job id. 90 s by default. */
  triggerTimeoutMs?: number;
  /** For everything else. 30 s by default. */
  timeoutMs?: number;
}

export interface CallOptions {
  /** When it aborts, the call rejects with its reason; a trigger may still have happened. */
  signal?: AbortSignal;
  /** Whose call it is: every line that the client logs about it has these fields. */
  logFields?: Record<string, string>;
}

/** Every problem with Airbyte is returned; only an abort by the caller rejects. */
export interface AirbyteClient {
  triggerSync(connectionId: string, options?: CallOptions): Promise<AirbyteAnswer<AirbyteJob>>;
  getJob(runId: string, options?: CallOptions): Promise<AirbyteAnswer<AirbyteJob>>;
  /** Jobs of every kind, the newest first: only those with `isSync` are syncs. */
  listJobs(query: JobQuery, options?: CallOptions): Promise<AirbyteAnswer<AirbyteJob[]>>;
  /**
   * Airbyte cancels whatever runs on that job's connection, even a newer job: call `listJobs` first. It may
   * respond before the job has ended.
   */
  cancelJob(runId: string, options?: CallOptions): Promise<AirbyteAnswer<AirbyteJob>>;
  getConnection(connectionId: string, options?: CallOptions): Promise<AirbyteAnswer<AirbyteConnection>>;
  listConnections(
    query: ConnectionQuery,
    options?: CallOptions,
  ): Promise<AirbyteAnswer<AirbyteConnectionPage>>;
  /** Whether the workspace exists and our credentials may see it. */
  getWorkspace(workspaceId: string, options?: CallOptions): Promise<AirbyteAnswer<null>>;
  /** Whether our credentials work at all. */
  probe(options?: CallOptions): Promise<AirbyteAnswer<null>>;
  /** What Airbyte said last about its rate limit; null while it has said nothing. */
  readonly rateLimit: RateLimitSaid | null;
  /** Removes every secret that was sent recently from a foreign text. */
  scrub(text: string): string;
  /** Ends open requests and closes the connections. */
  close(): Promise<void>;
}

/** Headers of a response that speak of the rate limit, by their names. */
export interface RateLimitSaid {
  headers: Record<string, string>;
  status: number;
  at: Date;
}

export interface JobQuery {
  connectionId: string;
  createdSince?: Date;
  /** 1 to 100; 20 by default. */
  limit?: number;
}

export interface ConnectionQuery {
  workspaceId: string;
  /** 1 to 100. */
  limit: number;
  offset: number;
}

export type AirbyteVerdict = 'succeeded' | 'failed' | 'canceled' | 'going_on';

/** `incomplete` is not an end: an attempt failed, and Airbyte makes another. */
const verdicts: ReadonlyMap<string, AirbyteVerdict> = new Map([
  ['pending', 'going_on'],
  ['queued', 'going_on'],
  ['running', 'going_on'],
  ['incomplete', 'going_on'],
  ['succeeded', 'succeeded'],
  ['failed', 'failed'],
  ['cancelled', 'canceled'],
]);

/** An unknown status counts as running: taking it for an end would lose a running sync. */
export function verdictOf(status: string): AirbyteVerdict {
  return verdicts.get(status) ?? 'going_on';
}

export function isTerminal(status: string): boolean {
  return verdictOf(status) !== 'going_on';
}

/** Resets, refreshes and clears are jobs too, but nobody asked us to run them. */
export function isSync({ jobType }: Pick<AirbyteJob, 'jobType'>): boolean {
  return jobType === 'sync';
}

export function isKnownStatus(status: string): boolean {
  return verdicts.has(status);
}
