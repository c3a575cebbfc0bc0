import type { Slice, SliceResult } from '../../../kernel/jobs/types.ts';
import type { CircuitBreakers } from '../../../kernel/limits/circuit-breaker.ts';
import type { Logger } from '../../../lib/log.ts';
import type { AirbyteAnswer, AirbyteClient, AirbyteProblem, CallOptions } from '../airbyte/types.ts';
import type { ConnectorMetrics } from '../metrics.ts';
import { checkpointOf, kept, type SyncCheckpoint } from './checkpoint.ts';
import type { RequestGate } from './request-gate.ts';

export const dependency = 'airbyte';

export interface TurnDeps {
  /** Null: this process has no credentials for Airbyte. */
  client: AirbyteClient | null;
  gate: RequestGate;
  breakers: CircuitBreakers;
  trouble: Trouble;
  metrics: ConnectorMetrics;
  logger: Logger;
  coolDownMs: number;
}

const unconfiguredWaitMs = 30_000;
/**
 * After a 429 the whole process is silent for this long, because Airbyte counts requests per user. The sync itself
 * waits for as long as Retry-After says; the others find out soon enough whether it is meant for them too.
 */
const throttledPauseMs = { usual: 1_000, most: 5_000 };
const connectorsInTrouble = 3;

/**
 * Which connectors have failed since Airbyte last answered. One alone may be its own fault; when several fail, Airbyte
 * does, and their jobs wait for it instead of using up their retries.
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

/** Lets a slice talk to Airbyte if there is room, and if Airbyte is not known to be down; otherwise it waits. */
export async function takeTurn(
  deps: TurnDeps,
  slice: Slice,
  work: (turn: AirbyteTurn) => Promise<SliceResult>,
): Promise<SliceResult> {
  const { client, gate, breakers } = deps;
  if (client === null)
    return waiting(slice, { waitingFor: 'airbyte_not_configured', delayMs: unconfiguredWaitMs });
  const entry = gate.enter();
  if (!entry.granted) return waiting(slice, { waitingFor: null, delayMs: entry.retryInMs });
  try {
    const answer = await breakers.check(dependency);
    if (!answer.allowed) {
      // A little later than asked for, each by itself, so that not all of them come back at once.
      const delayMs = answer.retryInMs * (1 + Math.random() / 4);
      return waiting(slice, { waitingFor: 'airbyte_unavailable', delayMs });
    }
    const turn = new AirbyteTurn(deps, slice, { client, isProbe: answer.isProbe });
    try {
      return await work(turn);
    } finally {
      await turn.end();
    }
  } finally {
    gate.leave();
  }
}

/** `wait` with the reason in the checkpoint, which is written only when it is another one than before. */
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

type Call<T> = (client: AirbyteClient, options: CallOptions) => Promise<AirbyteAnswer<T>>;

/** The calls of one slice. Each is preceded by a look at the lease, because fencing cannot undo a POST. */
export class AirbyteTurn {
  readonly #deps: TurnDeps;
  readonly #slice: Slice;
  readonly #client: AirbyteClient;
  #isProbe: boolean;

  constructor(
    deps: TurnDeps,
    slice: Slice,
    { client, isProbe }: { client: AirbyteClient; isProbe: boolean },
  ) {
    this.#deps = deps;
    this.#slice = slice;
    this.#client = client;
    this.#isProbe = isProbe;
  }

  async ask<T>(request: string, call: Call<T>): Promise<AirbyteAnswer<T>> {
    const { signal } = this.#slice;
    await this.#slice.assertHeld();
    const answer = await call(this.#client, { signal });
    signal.throwIfAborted();
    const code = answer.type === 'ok' ? 'ok' : answer.problem.code;
    this.#deps.metrics.requests.inc({ request, answer: code });
    await this.#learn(answer.type === 'ok' ? null : answer.problem);
    return answer;
  }

  /** A slice that lost its lease before it could ask leaves the probe to the next one. */
  async end(): Promise<void> {
    if (!this.#isProbe) return;
    this.#isProbe = false;
    await this.#deps.breakers.returnProbe(dependency).catch((error: unknown) => {
      this.#deps.logger.debug({ err: error, dependency }, 'a probe could not be returned; it runs out');
    });
  }

  /**
   * After a 401 or 403: are we locked out altogether? Then it is not this connector's fault, the breaker opens and
   * everybody waits.
   */
  async areCredentialsBad(problem: AirbyteProblem): Promise<'yes' | 'no' | 'unknown'> {
    const answer = await this.ask('probe', (client, options) => client.probe(options));
    if (answer.type === 'ok') return 'no';
    if (answer.problem.class !== 'auth') return 'unknown';
    const reason = `Airbyte refuses the credentials of this installation: ${problem.message}`;
    this.#deps.logger.error(
      { dependency, status: answer.problem.status, alert: 'airbyte_credentials_refused' },
      'Airbyte refuses the credentials of this installation, and every sync waits. Check AIRBYTE_API_TOKEN, or ' +
        'AIRBYTE_CLIENT_ID and AIRBYTE_CLIENT_SECRET, and restart with the right ones',
    );
    await this.#open(reason);
    return 'yes';
  }

  async #learn(problem: AirbyteProblem | null): Promise<void> {
    const { trouble, gate } = this.#deps;
    const isDown = problem !== null && ['server_error', 'timeout', 'connection'].includes(problem.class);
    if (isDown) {
      const isGeneral = trouble.note(`${this.#slice.job.tenantId} ${this.#slice.job.subjectId}`);
      if (this.#isProbe || isGeneral) await this.#open(`Airbyte fails: ${problem.message}`);
      return;
    }
    trouble.clear();
    if (problem?.class === 'rate_limit') {
      this.#deps.metrics.throttled();
      gate.closeFor(Math.min(problem.retryAfterMs ?? throttledPauseMs.usual, throttledPauseMs.most));
    }
    // Who is refused learns more from the probe that follows.
    if (this.#isProbe && problem?.class !== 'auth') {
      this.#isProbe = false;
      await this.#deps.breakers.recordSuccess(dependency);
    }
  }

  async #open(reason: string): Promise<void> {
    this.#isProbe = false;
    this.#deps.trouble.clear();
    const { coolDownMs } = this.#deps;
    await this.#deps.breakers.recordFailure(dependency, reason, {
      threshold: 1,
      coolDownMs,
      maxCoolDownMs: coolDownMs * 20,
    });
  }
}
