import { randomUUID } from 'node:crypto';

export interface FakeConnection {
  connectionId: string;
  name: string;
  status: string;
  workspaceId: string;
  scheduleType: string;
  sourceId: string;
  destinationId: string;
  /** The outcome of jobs created from now on. */
  plan: JobPlan;
  failuresInARow: number;
}

export interface JobPlan {
  /** One status per poll; the last one stays. */
  statuses: string[];
  /** What the job says at its end; absent when undefined. */
  rows?: number | null;
  bytes?: number | null;
  /** From making to end by the fake's clock unless told. */
  durationSeconds?: number;
  /** DELETE returns while the job still runs; it ends with the next poll. */
  cancelsSlowly?: boolean;
}

export interface FakeJob {
  runId: bigint;
  jobType: string;
  status: string;
  connectionId: string;
  createdAtMs: number;
  endedAtMs: number | null;
  plan: JobPlan;
  upcoming: string[];
}

const defaultWorkspace = '18dccc91-0ab1-4f72-9ed7-0b8fc27c5826';
const terminal = ['succeeded', 'failed', 'cancelled'];
/** Before a job runs, Airbyte has no duration for it. */
const waiting = ['pending', 'queued'];
const failuresUntilDisabled = 30;
const defaultPlan: JobPlan = { statuses: ['running', 'succeeded'], rows: 42, bytes: 4_200 };

/** What Airbyte knows: connections and their jobs. Nothing in here has to do with HTTP. */
export class FakeAirbyteState {
  readonly connections = new Map<string, FakeConnection>();
  readonly workspaces = new Set([defaultWorkspace]);
  readonly jobs: FakeJob[] = [];
  /** Connections that somebody tried to sync while a job was active on them. */
  readonly refused: string[] = [];
  readonly #nowMs: () => number;
  // Beyond 2^53, and odd: whoever takes it for a JavaScript number asks for a job that does not exist.
  #lastRunId = 2n ** 53n - 1n;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  addConnection(wanted: Partial<FakeConnection> = {}): FakeConnection {
    const connection = {
      connectionId: randomUUID(),
      name: 'Shop to warehouse',
      status: 'active',
      workspaceId: defaultWorkspace,
      scheduleType: 'manual',
      sourceId: randomUUID(),
      destinationId: randomUUID(),
      plan: defaultPlan,
      failuresInARow: 0,
      ...wanted,
    };
    this.connections.set(connection.connectionId, connection);
    return connection;
  }

  /** Whether or not one is running: Airbyte's own scheduler, a colleague at the console. */
  makeJob(connectionId: string, { status = 'pending', jobType = 'sync' } = {}): FakeJob {
    const plan = this.connections.get(connectionId)?.plan ?? defaultPlan;
    this.#lastRunId += 2n;
    const job = {
      runId: this.#lastRunId,
      jobType,
      status,
      connectionId,
      createdAtMs: this.#nowMs(),
      endedAtMs: null,
      plan,
      upcoming: [...plan.statuses],
    };
    this.jobs.push(job);
    return job;
  }

  findJob(runId: string): FakeJob | undefined {
    return this.jobs.find((job) => String(job.runId) === runId);
  }

  findActive(connectionId: string): FakeJob | undefined {
    return this.jobs.findLast((job) => job.connectionId === connectionId && !isOver(job));
  }

  /** A poll moves the job on. */
  poll(job: FakeJob): void {
    const next = job.upcoming.shift();
    if (next !== undefined && !isOver(job)) this.setStatus(job, next);
  }

  cancel(job: FakeJob): void {
    if (job.plan.cancelsSlowly) job.upcoming = ['cancelled'];
    else this.setStatus(job, 'cancelled');
  }

  setStatus(job: FakeJob, status: string): void {
    job.status = status;
    if (!isOver(job) || job.endedAtMs !== null) return;
    job.endedAtMs = this.#nowMs();
    job.upcoming = [];
    this.#countFailures(job);
  }

  #countFailures({ connectionId, status }: FakeJob): void {
    const connection = this.connections.get(connectionId);
    if (connection === undefined || status === 'cancelled') return;
    connection.failuresInARow = status === 'failed' ? connection.failuresInARow + 1 : 0;
    if (connection.failuresInARow >= failuresUntilDisabled) connection.status = 'inactive';
  }

  jobView(job: FakeJob): Record<string, unknown> {
    const endedAtMs = job.endedAtMs;
    const view: Record<string, unknown> = {
      jobId: job.runId,
      status: job.status,
      jobType: job.jobType,
      startTime: toSeconds(job.createdAtMs),
      connectionId: job.connectionId,
    };
    const isWaiting = waiting.includes(job.status);
    if (!isWaiting) view.duration = isoDuration(this.#durationSeconds(job));
    if (endedAtMs === null) return view;
    return {
      ...view,
      lastUpdatedAt: toSeconds(endedAtMs),
      bytesSynced: job.plan.bytes,
      rowsSynced: job.plan.rows,
    };
  }

  connectionView(connection: FakeConnection): Record<string, unknown> {
    const { plan: _plan, failuresInARow: _failures, scheduleType, ...rest } = connection;
    return {
      ...rest,
      schedule: { scheduleType },
      configurations: { streams: [{ name: 'orders' }] },
      createdAt: 1_767_225_600,
      tags: [],
    };
  }

  /** What Airbyte sends to the notification URL of the workspace when this job ends. */
  notificationOf(runId: string, failure: { errorMessage?: string; errorType?: string } = {}) {
    const job = this.findJob(runId);
    if (job === undefined) throw new Error(`The fake Airbyte has no job ${runId}`);
    const named = (id: string | undefined) => ({ id, name: 'a name', url: 'https://cloud.airbyte.com/x' });
    const connection = this.connections.get(job.connectionId);
    return {
      data: {
        workspace: named(connection?.workspaceId),
        connection: named(job.connectionId),
        source: named(connection?.sourceId),
        destination: named(connection?.destinationId),
        jobId: job.runId,
        success: job.status === 'succeeded',
        startedAt: toSeconds(job.createdAtMs),
        finishedAt: toSeconds(job.endedAtMs ?? this.#nowMs()),
        bytesEmitted: job.plan.bytes,
        bytesCommitted: job.plan.bytes,
        recordsEmitted: job.plan.rows,
        recordsCommitted: job.plan.rows,
        durationInSeconds: this.#durationSeconds(job),
        ...failure,
      },
    };
  }

  #durationSeconds({ plan, createdAtMs, endedAtMs }: FakeJob): number {
    return plan.durationSeconds ?? Math.round(((endedAtMs ?? this.#nowMs()) - createdAtMs) / 1000);
  }
}

function isOver({ status }: FakeJob): boolean {
  return terminal.includes(status);
}

/** JSON in which a bigint is a plain number, as in Airbyte's responses. */
export function toJson(value: unknown): string {
  const text = JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === 'bigint' ? `int64:${inner}` : inner,
  );
  return text.replace(/"int64:(\d+)"/g, '$1');
}

/** Airbyte keeps whole seconds: a job can seem older than its request. */
function toSeconds(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

function isoDuration(seconds: number): string {
  const hours = Math.floor(seconds / 3_600);
  const minutes = Math.floor((seconds % 3_600) / 60);
  const rest = seconds % 60;
  const parts = [hours > 0 ? `${hours}H` : '', minutes > 0 ? `${minutes}M` : '', rest > 0 ? `${rest}S` : ''];
  return `PT${parts.join('') || '0S'}`;
}
