import type { IncomingMessage, ServerResponse } from 'node:http';
import { readJson, sendJson } from './http.ts';

interface DemoConnection {
  connectionId: string;
  name: string;
  /** How long a sync takes, and what it moves. */
  seconds: number;
  rows: number;
  /** Airbyte may not see it any more: every request about it is refused. */
  isForbidden?: boolean;
}

interface DemoJob {
  jobId: number;
  connection: DemoConnection;
  createdAtMs: number;
  canceledAtMs: number | null;
}

export const demoConnections: readonly (DemoConnection & { account: string; everyHours: number })[] = [
  {
    connectionId: '7d0c5b1e-1f5a-4d7c-9a63-0d1f5a1c0001',
    name: 'Demo: shop orders',
    account: 'shop',
    seconds: 6,
    rows: 4_812,
    everyHours: 24,
  },
  {
    connectionId: '7d0c5b1e-1f5a-4d7c-9a63-0d1f5a1c0002',
    name: 'Demo: warehouse stock',
    account: 'warehouse',
    seconds: 25,
    rows: 61_204,
    everyHours: 24,
  },
  {
    connectionId: '7d0c5b1e-1f5a-4d7c-9a63-0d1f5a1c0003',
    name: 'Demo: newsletter (credentials expired)',
    account: 'newsletter',
    seconds: 5,
    rows: 0,
    everyHours: 24,
    isForbidden: true,
  },
];
export const demoAirbyteWorkspace = '7d0c5b1e-1f5a-4d7c-9a63-0d1f5a1c0000';

const pendingMs = 1_500;

/** The part of Airbyte's public API that Sluice uses. Jobs end by the clock; nothing is moved anywhere. */
export class DemoAirbyte {
  readonly #token: string;
  readonly #jobs: DemoJob[] = [];
  /** Greater with every start, so that no id of an earlier start comes back. */
  #lastJobId = Math.floor(Date.now() / 1000);

  constructor(token: string) {
    this.#token = token;
  }

  async handle(request: IncomingMessage, response: ServerResponse, url: URL) {
    if (request.headers.authorization !== `Bearer ${this.#token}`) {
      return sendProblem(response, 401, 'The token is not the one of the demo');
    }
    const [, , kind, id] = url.pathname.split('/');
    const route = `${request.method} ${kind}${id === undefined ? '' : '/id'}`;
    if (route === 'POST jobs') return this.#trigger(response, await readJson(request));
    if (route === 'GET jobs') return this.#listJobs(response, url.searchParams);
    if (route === 'GET jobs/id' || route === 'DELETE jobs/id') {
      return this.#aboutJob(response, { jobId: Number(id), isCancel: request.method === 'DELETE' });
    }
    if (route === 'GET connections') return sendPage(response, demoConnections.map(connectionView));
    if (route === 'GET connections/id') return this.#showConnection(response, id ?? '');
    if (route === 'GET workspaces/id') {
      return sendJson(response, 200, { workspaceId: demoAirbyteWorkspace, name: 'Northwind (demo)' });
    }
    return sendProblem(response, 404, 'The demo Airbyte has no such path');
  }

  #showConnection(response: ServerResponse, id: string) {
    const connection = demoConnections.find(({ connectionId }) => connectionId === id);
    if (connection === undefined) return sendProblem(response, 404, 'There is no such connection');
    sendJson(response, 200, connectionView(connection));
  }

  #trigger(response: ServerResponse, body: Record<string, unknown>) {
    const connection = demoConnections.find(({ connectionId }) => connectionId === body.connectionId);
    if (connection === undefined) return sendProblem(response, 404, 'There is no such connection');
    if (connection.isForbidden) {
      return sendProblem(response, 403, 'The credentials of this source have expired (this is the demo)');
    }
    const running = this.#jobs.find(
      (job) => job.connection === connection && !isOver(statusOf(job, Date.now())),
    );
    if (running !== undefined) return sendProblem(response, 409, 'A sync is already running');
    this.#lastJobId += 1;
    const job = { jobId: this.#lastJobId, connection, createdAtMs: Date.now(), canceledAtMs: null };
    this.#jobs.push(job);
    sendJson(response, 200, jobView(job));
  }

  #listJobs(response: ServerResponse, query: URLSearchParams): void {
    const wanted = query.get('connectionId');
    const sinceMs = Date.parse(query.get('createdAtStart') ?? '') || 0;
    const found = this.#jobs
      .filter((job) => wanted === null || job.connection.connectionId === wanted)
      .filter((job) => job.createdAtMs >= sinceMs)
      .toSorted((a, b) => b.jobId - a.jobId);
    sendPage(response, found.map(jobView));
  }

  #aboutJob(response: ServerResponse, { jobId, isCancel }: { jobId: number; isCancel: boolean }) {
    const job = this.#jobs.find((one) => one.jobId === jobId);
    if (job === undefined) return sendProblem(response, 404, 'There is no such job');
    if (isCancel && !isOver(statusOf(job, Date.now()))) job.canceledAtMs = Date.now();
    sendJson(response, 200, jobView(job));
  }
}

type JobStatus = 'pending' | 'running' | 'succeeded' | 'cancelled';

function statusOf({ connection, createdAtMs, canceledAtMs }: DemoJob, nowMs: number): JobStatus {
  if (canceledAtMs !== null) return 'cancelled';
  const ageMs = nowMs - createdAtMs;
  if (ageMs < pendingMs) return 'pending';
  return ageMs < connection.seconds * 1_000 ? 'running' : 'succeeded';
}

function isOver(status: JobStatus): boolean {
  return status === 'succeeded' || status === 'cancelled';
}

function jobView(job: DemoJob) {
  const { connection, createdAtMs, canceledAtMs } = job;
  const status = statusOf(job, Date.now());
  const endMs = canceledAtMs ?? createdAtMs + connection.seconds * 1_000;
  const shown = {
    jobId: job.jobId,
    status,
    jobType: 'sync',
    startTime: inSeconds(createdAtMs),
    connectionId: connection.connectionId,
  };
  if (status === 'pending') return shown;
  const duration = `PT${Math.round((Math.min(endMs, Date.now()) - createdAtMs) / 1_000)}S`;
  if (!isOver(status)) return { ...shown, duration };
  const moved = status === 'succeeded' ? connection.rows : 0;
  return {
    ...shown,
    duration,
    lastUpdatedAt: inSeconds(endMs),
    rowsSynced: moved,
    bytesSynced: moved * 180,
  };
}

function connectionView({ connectionId, name }: DemoConnection) {
  return {
    connectionId,
    name,
    status: 'active',
    workspaceId: demoAirbyteWorkspace,
    sourceId: demoAirbyteWorkspace,
    destinationId: demoAirbyteWorkspace,
    schedule: { scheduleType: 'manual' },
    configurations: { streams: [] },
  };
}

function inSeconds(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

function sendPage(response: ServerResponse, data: unknown[]): void {
  sendJson(response, 200, { previous: '', next: '', data });
}

function sendProblem(response: ServerResponse, status: number, detail: string): void {
  sendJson(response, status, {
    status,
    type: 'https://reference.airbyte.com/reference/errors',
    title: detail,
    detail,
  });
}
