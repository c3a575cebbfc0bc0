/** The way to the pipelines and tasks that whoever embeds Sluice has defined. */
export interface OwnDoor {
  dispatch(
    name: string,
    input: unknown,
    wish: {
      tenantId: string;
      subjectId?: string | undefined;
      runAt?: Date | undefined;
      createdBy?: string;
      /** The caller's own connection, inside its transaction. */
      client?: DispatchClient | undefined;
    },
  ): Promise<{ jobId: string }>;
  job(key: OwnJobKey): Promise<OwnJobState>;
  /** Resolves at the end of the job. */
  wait(key: OwnJobKey, signal?: AbortSignal): Promise<OwnJobState>;
}

interface OwnJobKey {
  tenantId: string;
  jobId: string;
}

/** Anything with the `query` of a `pg` client. */
export interface DispatchClient {
  query(text: string, values: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
}

export interface OwnJobState {
  jobId: string;
  status: 'queued' | 'running' | 'paused' | 'failed' | 'dead_letter' | 'success' | 'canceled';
  result?: unknown;
  error?: { code: string; message: string };
  counters: Record<string, number>;
}
