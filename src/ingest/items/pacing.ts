import { availableParallelism, totalmem } from 'node:os';
import type { FetchAnswer, FetchOptions, GuardedFetch } from '../../kernel/fetch/guarded-fetch.ts';
import { parseRetryAfter } from '../../kernel/jobs/retry.ts';
import {
  type ClaimBounds,
  type ClaimSignal,
  type ClaimState,
  initialClaimState,
  nextClaimState,
} from './controllers/claim-size.ts';
import {
  type CallEnd,
  callEnded,
  callStarted,
  defaultPaceBounds,
  initialPace,
  type PaceState,
  waitBeforeCall,
} from './controllers/provider-pace.ts';

const maxRemembered = 1_000;

/** What the controllers know, in this process: the size of a job's claims and the pace of each provider. */
export class Pacing {
  readonly #bounds: ClaimBounds;
  readonly #claims = new Map<string, ClaimState>();
  readonly #providers = new Map<string, ProviderPace>();
  readonly #onThrottled: (provider: string) => void;

  constructor({ bounds, onThrottled }: { bounds: ClaimBounds; onThrottled: (provider: string) => void }) {
    this.#bounds = bounds;
    this.#onThrottled = onThrottled;
  }

  claimOf(jobId: string): ClaimState {
    return this.#claims.get(jobId) ?? initialClaimState(this.#bounds);
  }

  observe(jobId: string, signal: Pick<ClaimSignal, 'items' | 'elapsedMs' | 'failures'>): ClaimState {
    const next = nextClaimState(this.claimOf(jobId), { ...signal, ...readPressure() }, this.#bounds);
    forgetOldest(this.#claims);
    this.#claims.set(jobId, next);
    return next;
  }

  providerOf(key: string): ProviderPace {
    const known = this.#providers.get(key);
    if (known) return known;
    forgetOldest(this.#providers);
    const made = new ProviderPace(() => this.#onThrottled(key.slice(key.indexOf('/') + 1)));
    this.#providers.set(key, made);
    return made;
  }
}

/** Lets calls to one provider start only as fast as it bears them. */
export class ProviderPace {
  #state: PaceState = initialPace(performance.now(), defaultPaceBounds);
  readonly #onThrottled: () => void;
  readonly #waiting = new Set<() => void>();

  constructor(onThrottled: () => void) {
    this.#onThrottled = onThrottled;
  }

  get concurrency(): number {
    return Math.max(1, Math.floor(this.#state.concurrency));
  }

  describe(): { concurrency: number; delayMs: number; reason: string } {
    const { concurrency, delayMs, reason } = this.#state;
    return { concurrency: Math.round(concurrency * 10) / 10, delayMs: Math.round(delayMs), reason };
  }

  /** The same fetch, held back to the provider's pace. */
  pace(fetch: GuardedFetch): GuardedFetch {
    const paced = async (url: string, options?: FetchOptions) =>
      this.#call(options?.signal, () => fetch(url, options));
    return Object.assign(paced, {
      stream: (url: string, options?: FetchOptions) =>
        this.#call(options?.signal, () => fetch.stream(url, options)),
      close: () => fetch.close(),
    });
  }

  async #call<Body>(
    signal: AbortSignal | undefined,
    start: () => Promise<FetchAnswer<Body>>,
  ): Promise<FetchAnswer<Body>> {
    await this.#turn(signal);
    this.#state = callStarted(this.#state, performance.now());
    let end: CallEnd = { outcome: 'failed' };
    try {
      const answer = await start();
      end = endOf(answer);
      return answer;
    } finally {
      this.#state = callEnded(this.#state, end, performance.now(), defaultPaceBounds);
      if (end.outcome === 'throttled') this.#onThrottled();
      for (const wake of this.#waiting) wake();
    }
  }

  async #turn(signal: AbortSignal | undefined): Promise<void> {
    for (;;) {
      signal?.throwIfAborted();
      const waitMs = waitBeforeCall(this.#state, performance.now());
      if (waitMs <= 0) return;
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          this.#waiting.delete(wake);
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        const timer = setTimeout(wake, Math.min(waitMs, 1_000));
        this.#waiting.add(wake);
        signal?.addEventListener('abort', wake, { once: true });
      });
    }
  }
}

function endOf<Body>({ status, headers }: FetchAnswer<Body>): CallEnd {
  const retryAfterMs = parseRetryAfter(headers['retry-after'], headers.date);
  const more = retryAfterMs === undefined ? {} : { retryAfterMs };
  if (status === 429 || (status === 503 && retryAfterMs !== undefined))
    return { outcome: 'throttled', ...more };
  return { outcome: status >= 500 ? 'failed' : 'success' };
}

let lastCpu = { usage: process.cpuUsage(), atMs: performance.now() };

/** Shares of what this process may use; the event loop's lag is what a zero timer is late by. */
function readPressure(): Pick<ClaimSignal, 'cpu' | 'memory' | 'eventLoopLagMs'> {
  const now = performance.now();
  const usage = process.cpuUsage(lastCpu.usage);
  const elapsedMs = Math.max(1, now - lastCpu.atMs);
  const cpu = (usage.user + usage.system) / 1000 / elapsedMs / cpuCount;
  if (elapsedMs > 1_000) lastCpu = { usage: process.cpuUsage(), atMs: now };
  const memory = process.memoryUsage.rss() / memoryLimitBytes;
  return { cpu: Math.min(1, cpu), memory, eventLoopLagMs: 0 };
}

const cpuCount = availableParallelism();
/** A process of this size is in trouble, whatever the machine has. */
const memoryLimitBytes = Math.min(totalmem() * 0.8, 2 * 1024 ** 3);

function forgetOldest<Key, Value>(map: Map<Key, Value>): void {
  if (map.size < maxRemembered) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
