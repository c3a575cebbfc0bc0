import { setTimeout as pause } from 'node:timers/promises';
import { mintToken } from '../../src/kernel/tenancy/tokens.ts';
import type { CommandLine, Running } from '../support/servers/command-line.ts';
import { testTokens } from '../support/servers/server.ts';
import type { TestDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import type { PlannedJob } from './items-ledger.ts';

/** One `sluice worker` process. */
export interface ItemWorker {
  readonly running: Running;
  readonly pid: number;
  /** Known once it has reported it. */
  readonly workerId: string | null;
  readonly isLiving: boolean;
}

export type UploadedFile = Pick<PlannedJob, 'name' | 'processor' | 'options' | 'csv'>;

export interface Answer {
  status: number;
  body: Record<string, unknown>;
}

/** Settings of every process; short leases and locks, so that takeovers happen within seconds. */
export function installationEnv(database: Pick<TestDatabase, 'ownerUrl'>, { leaseMs }: { leaseMs: number }) {
  return {
    DATABASE_URL: database.ownerUrl,
    DATABASE_POOL_SIZE: '6',
    SLUICE_JWT_SECRET: testTokens.secret,
    SLUICE_BLOCK_PRIVATE_ADDRESSES: 'false',
    SLUICE_WORKER_CONCURRENCY: '3',
    LEASE_MS: String(leaseMs),
    HEARTBEAT_MS: String(leaseMs / 5),
    POLL_MS: '300',
    LOCK_FLOOR_MS: String(leaseMs),
    WORKER_TARGET_SLICE_MS: '500',
    // Whatever the faults cost a row, it must not run out of attempts before it comes to its own end.
    MAX_ATTEMPTS_ERROR: '50',
    MAX_ATTEMPTS_NOT_FOUND: '1',
    LOG_LEVEL: 'warn',
  };
}

export function startWorker(sluice: CommandLine, env: Record<string, string>): ItemWorker {
  const running = sluice.start(['worker'], env);
  return {
    running,
    pid: running.child.pid ?? 0,
    get workerId() {
      return /worker (\S+) is running/.exec(running.stderr())?.[1] ?? null;
    },
    get isLiving() {
      return running.child.exitCode === null && running.child.signalCode === null;
    },
  };
}

/** A server process and a client of it. */
export interface ItemServer {
  readonly running: Running;
  readonly url: string;
  call(
    tenantId: string,
    method: string,
    path: string,
    body?: object,
    options?: { idempotencyKey?: string },
  ): Promise<Answer>;
  upload(tenantId: string, job: UploadedFile, options?: { idempotencyKey?: string }): Promise<Answer>;
  postForm(
    tenantId: string,
    path: string,
    form: { body: FormData; idempotencyKey?: string | undefined },
  ): Promise<Answer>;
  /** A form that is still being sent; returns the status. */
  send(
    tenantId: string,
    form: { body: ReadableStream<Uint8Array>; contentType: string; idempotencyKey?: string },
  ): Promise<number>;
}

/** Without a worker of its own, unless it is told to have one. */
export async function startServer(sluice: CommandLine, env: Record<string, string>): Promise<ItemServer> {
  const running = sluice.start(['serve'], { SLUICE_WORKER: 'false', ...env, PORT: '0' });
  const address = () => /running at (\S+)/.exec(running.stdout())?.[1];
  await eventually(
    async () => address() !== undefined || running.child.exitCode !== null,
    'the server is running',
    60_000,
  );
  const url = address();
  if (url === undefined) throw new Error(`The server did not start: ${running.stderr()}`);
  const postForm: ItemServer['postForm'] = async (tenantId, path, { body, idempotencyKey }) =>
    ask(`${url}${path}`, {
      method: 'POST',
      headers: {
        ...(await bearer(tenantId)),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      body,
    });
  return {
    running,
    url,
    postForm,
    call: async (tenantId, method, path, body, { idempotencyKey } = {}) =>
      ask(`${url}${path}`, {
        method,
        headers: {
          ...(await bearer(tenantId)),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    upload: (tenantId, job, { idempotencyKey } = {}) =>
      postForm(tenantId, '/api/jobs', { body: formOf(job), idempotencyKey }),
    send: async (tenantId, { body, contentType, idempotencyKey }) => {
      const answer = await fetch(`${url}/api/jobs`, {
        method: 'POST',
        headers: {
          ...(await bearer(tenantId)),
          'content-type': contentType,
          ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
        },
        body,
        duplex: 'half',
      } as RequestInit);
      return answer.status;
    },
  };
}

/**
 * With a pause of 200 ms longer than the 30 s for which a key belongs to a request that has died, and than the minute
 * for which a disk is full in `npm run chaos`.
 */
const maxTries = 600;

/** Like a careful client: repeats the request with the same key until it gets a response. */
export async function uploadSurely(
  server: () => ItemServer,
  tenantId: string,
  job: UploadedFile,
  onRefusal?: (answer: Answer) => void,
): Promise<string> {
  const send = () => server().upload(tenantId, job, { idempotencyKey: job.name });
  return String((await untilCreated(send, `the upload of ${job.name}`, onRefusal)).jobId);
}

export async function untilCreated(
  send: () => Promise<Answer>,
  what: string,
  onRefusal?: (answer: Answer) => void,
): Promise<Answer['body']> {
  return (await untilAccepted(send, { what, accepted: [201], onRefusal })).body;
}

/** Gone, in trouble, or still processing the first try: all of these pass, everything else is an error. */
export async function untilAccepted(
  send: () => Promise<Answer>,
  wish: { what: string; accepted: readonly number[]; onRefusal?: ((answer: Answer) => void) | undefined },
): Promise<Answer> {
  const { what, accepted, onRefusal } = wish;
  for (let attempt = 1; ; attempt += 1) {
    const answer = await send().catch(
      (error: unknown): Answer => ({ status: 0, body: { code: String(error) } }),
    );
    if (accepted.includes(answer.status)) return answer;
    onRefusal?.(answer);
    const passes = answer.status === 0 || answer.status === 503 || answer.status === 409;
    if (!passes || attempt === maxTries)
      throw new Error(`${what} was answered with ${JSON.stringify(answer)}`);
    await pause(200);
  }
}

export async function bearer(tenantId: string): Promise<{ authorization: string }> {
  // Good for a server whose clock is hours away from this one's, too.
  const subject = { userId: 'chaos', role: 'admin', lifetimeSeconds: 6 * 3_600 } as const;
  return { authorization: `Bearer ${await mintToken(testTokens, { tenantId, ...subject })}` };
}

function formOf({ processor, options, csv, name }: UploadedFile): FormData {
  const form = new FormData();
  form.set('processor', processor);
  form.set('options', JSON.stringify(options));
  form.set('file', new Blob([csv], { type: 'text/csv' }), `${name}.csv`);
  return form;
}

/** A careful client does not wait forever. */
const answerWithinMs = 60_000;

async function ask(url: string, init: RequestInit): Promise<Answer> {
  const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(answerWithinMs) });
  const text = await answer.text();
  return { status: answer.status, body: JSON.parse(text === '' ? '{}' : text) as Record<string, unknown> };
}
