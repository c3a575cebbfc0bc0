import type { Ground } from '../../../kernel/house/house.ts';
import type { Job, Slice, SliceResult } from '../../../kernel/jobs/types.ts';
import type { AirbyteAnswer, AirbyteClient, AirbyteProblem, CallOptions } from '../airbyte/types.ts';
import type { ConnectorMetrics } from '../metrics.ts';
import type { AirbyteDirectory, AirbyteHome } from '../servers/directory.ts';
import { checkpointOf, kept, type SyncCheckpoint } from './checkpoint.ts';
import type { RateLimitKeeper } from './rate-limit-keeper.ts';
import type { RequestLimiter } from './request-limiter.ts';

/** Of the installation's own Airbyte. */
export const dependency = 'airbyte';

export interface AirbyteCallDeps extends Pick<Ground, 'breakers' | 'logger'> {
  directory: AirbyteDirectory;
  requests: RequestLimiter;
  trouble: Trouble;
  rateLimits: RateLimitKeeper;
  metrics: ConnectorMetrics;
  coolDownMs: number;
}

const unconfiguredWaitMs = 30_000;
/**
 * After a 429 the whole process sends nothing for this long, because Airbyte counts requests per user. The sync itself
 * waits as long as Retry-After says; the others soon find out whether the limit holds for them too.
 */
const throttledPauseMs = { usual: 1_000, most: 5_000 };
const connectorsInTrouble = 3;

/**
 * Which connectors have failed since Airbyte last responded. One alone may be its own fault; when several fail, Airbyte
 * is at fault, and their jobs wait for it instead of using up their retries.
 */
export class Trouble {
  readonly #connectors = new Set<string>();

  note(connector: string): boolean {
    if (this.#connectors.size < connectorsInTrouble) this.#connectors.add(connector);
    return this.#connectors.size >= connectorsInTrouble;
  }

  clear(): void {
    this.#connectors.clear();
  }
}

/** Lets a slice call Airbyte if there is room and Airbyte is not known to be down; otherwise the slice waits. */
export async function callAirbyte(
  deps: AirbyteCallDeps,
  slice: Slice,
  work: (calls: AirbyteCalls) => Promise<SliceResult>,
): Promise<SliceResult> {
  const { directory, requests, breakers } = deps;
  const { tenantId, payload } = slice.job;
  const home = await directory.find({ tenantId, server: serverOf(payload) });
  if (home === null)
    return waiting(slice, { waitingFor: 'airbyte_not_configured', delayMs: unconfiguredWaitMs });
  const entry = requests.enter();
  if (!entry.granted) return waiting(slice, { waitingFor: null, delayMs: entry.retryInMs });
  try {
    const answer = await breakers.check(home.dependency);
    if (!answer.allowed) {
      // Each waits a little longer than asked, so that they do not all come back at once.
      const delayMs = answer.retryInMs * (1 + Math.random() / 4);
      return waiting(slice, { waitingFor: 'airbyte_unavailable', delayMs });
    }
    const calls = new AirbyteCalls(deps, slice, { home, isProbe: answer.isProbe });
    try {
      return await work(calls);
    } finally {
      await calls.end();
    }
  } finally {
    requests.leave();
  }
}

/** `wait` with the reason in the checkpoint, which is written only when the reason has changed. */
export function waiting(
  slice: Slice,
  { waitingFor, delayMs }: { waitingFor: string | null; delayMs: number },
): SliceResult {
  const before = checkpointOf(slice.job.checkpoint);
  const outcome = { type: 'wait', delayMs } as const;
  if (before.waitingFor === waitingFor) return { outcome };
  const after: SyncCheckpoint = { ...before, waitingFor };
  return { outcome, checkpoint: kept(after) };
}

/** Jobs of older programs name none. */
function serverOf({ airbyteServer }: Job['payload']): string | null {
  return typeof airbyteServer === 'string' ? airbyteServer : null;
}

/** What every log line of a job has. */
export function logFields({ jobId, correlationId }: Pick<Job, 'jobId' | 'correlationId'>) {
  return { job_id: jobId, correlation_id: correlationId };
}

type Call<T> = (client: AirbyteClient, options: CallOptions) => Promise<AirbyteAnswer<T>>;

/** The calls of one slice. Each is preceded by a lease check, because fencing cannot undo a POST. */
export class AirbyteCalls {
  readonly #deps: AirbyteCallDeps;
  readonly #slice: Slice;
  readonly #home: AirbyteHome;
  #isProbe: boolean;

  constructor(
    deps: AirbyteCallDeps,
    slice: Slice,
    { home, isProbe }: { home: AirbyteHome; isProbe: boolean },
  ) {
    this.#deps = deps;
    this.#slice = slice;
    this.#home = home;
    this.#isProbe = isProbe;
  }

  async ask<T>(request: string, call: Call<T>): Promise<AirbyteAnswer<T>> {
    const { signal } = this.#slice;
    await this.#slice.assertHeld();
    const answer = await call(this.#home.client, { signal, logFields: logFields(this.#slice.job) });
    signal.throwIfAborted();
    const code = answer.type === 'ok' ? 'ok' : answer.problem.code;
    this.#deps.metrics.requests.inc({ request, answer: code });
    await this.#learn(answer.type === 'ok' ? null : answer.problem);
    // The status page shows the installation's own.
    if (this.#home.dependency === dependency) {
      await this.#deps.rateLimits.keep(dependency, this.#home.client.rateLimit, logFields(this.#slice.job));
    }
    return answer;
  }

  /** Removes secrets from a foreign text. */
  scrub(text: string): string {
    return this.#home.client.scrub(text);
  }

  /** A slice that lost its lease before it could call returns the probe to the next one. */
  async end(): Promise<void> {
    if (!this.#isProbe) return;
    this.#isProbe = false;
    await this.#deps.breakers.returnProbe(this.#home.dependency).catch((error: unknown) => {
      const line = { ...logFields(this.#slice.job), err: error };
      this.#deps.logger.debug(line, 'a probe could not be returned; it will expire');
    });
  }

  /**
   * After a 401 or 403: are the shared credentials refused? Then it is not this connector's fault: the breaker opens
   * and every sync waits.
   */
  async areCredentialsBad(problem: AirbyteProblem): Promise<'yes' | 'no' | 'unknown'> {
    const answer = await this.ask('probe', (client, options) => client.probe(options));
    if (answer.type === 'ok') return 'no';
    if (answer.problem.class !== 'auth') return 'unknown';
    const reason = `Airbyte refuses the credentials: ${problem.message}`;
    this.#deps.logger.error(
      {
        ...logFields(this.#slice.job),
        dependency,
        status: answer.problem.status,
        alert: 'airbyte_credentials_refused',
      },
      'Airbyte refuses the credentials of this installation, and every sync waits. Check AIRBYTE_API_TOKEN, or ' +
        'AIRBYTE_CLIENT_ID and AIRBYTE_CLIENT_SECRET, and restart with the right ones',
    );
    await this.#open(reason);
    return 'yes';
  }

  async #learn(problem: AirbyteProblem | null): Promise<void> {
    const { trouble, requests } = this.#deps;
    const isDown = problem !== null && ['server_error', 'timeout', 'connection'].includes(problem.class);
    if (isDown) {
      const isGeneral = trouble.note(`${this.#slice.job.tenantId} ${this.#slice.job.subjectId}`);
      if (this.#isProbe || isGeneral) await this.#open(`Airbyte fails: ${problem.message}`);
      return;
    }
    trouble.clear();
    if (problem?.class === 'address') return this.#openWrongAddress(problem);
    if (problem?.class === 'rate_limit') {
      this.#deps.metrics.throttled();
      requests.closeFor(Math.min(problem.retryAfterMs ?? throttledPauseMs.usual, throttledPauseMs.most));
    }
    // After a refusal the following probe tells more.
    if (this.#isProbe && problem?.class !== 'auth') {
      this.#isProbe = false;
      await this.#deps.breakers.recordSuccess(this.#home.dependency);
    }
  }

  /** No sync can run there, so none of them is at fault: all wait until the settings are right. */
  #openWrongAddress({ message, status }: AirbyteProblem): Promise<void> {
    this.#deps.logger.error(
      { ...logFields(this.#slice.job), dependency, status, alert: 'airbyte_wrong_address' },
      'What responds at AIRBYTE_BASE_URL is not the API of Airbyte, and every sync waits',
    );
    return this.#open(`What responds is not the API of Airbyte: ${message}`);
  }

  async #open(reason: string): Promise<void> {
    this.#isProbe = false;
    this.#deps.trouble.clear();
    const { coolDownMs } = this.#deps;
    await this.#deps.breakers.recordFailure(this.#home.dependency, reason, {
      threshold: 1,
      coolDownMs,
      maxCoolDownMs: coolDownMs * 20,
    });
  }
}
