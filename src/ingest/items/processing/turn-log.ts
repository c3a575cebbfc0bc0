import type { Logger } from '../../../lib/log.ts';
import type { ItemChange, RetryClass, Unreported } from '../types.ts';
import type { ControllerView } from './pacing.ts';

interface Retries {
  items: number;
  shortestMs: number;
  longestMs: number;
  errorCodes: Set<string>;
}

const maxCodes = 10;
const maxStarts = 10_000;

/** Logs once, in each process, that the rows of a job have begun. */
export class StartLog {
  readonly #known = new Set<string>();

  write(logger: Logger, { job_id: jobId, ...line }: TurnIds & { processor: string; rows: number }): void {
    if (this.#known.has(jobId)) return;
    if (this.#known.size >= maxStarts) this.#known.clear();
    this.#known.add(jobId);
    logger.info({ job_id: jobId, ...line }, 'the first rows of a job are processed');
  }
}

/** What a turn did, for its log lines: one for the turn and one for each class of retries, never one per item. */
export class TurnTally {
  #batches = 0;
  #late = 0;
  readonly #ended: Record<string, number> = {};
  readonly #retries = new Map<RetryClass, Retries>();
  readonly #startedAtMs = performance.now();

  /** A batch that has committed. */
  add(changes: readonly ItemChange[], { fresh, late = 0 }: { fresh: Unreported; late?: number }): void {
    if (changes.length > 0) this.#batches += 1;
    this.#late += late;
    for (const [name, count] of Object.entries(fresh)) {
      if (!name.startsWith('ended.')) continue;
      const status = name.slice('ended.'.length);
      this.#ended[status] = (this.#ended[status] ?? 0) + count;
    }
    for (const change of changes) if (change.retryClass !== null) this.#addRetry(change.retryClass, change);
  }

  write(
    logger: Logger,
    { isLast, controllers, ...ids }: TurnIds & { isLast: boolean; controllers: ControllerView | null },
  ): void {
    for (const [retryClass, { errorCodes, ...seen }] of this.#retries) {
      const line = { ...ids, retry_class: retryClass, ...seen, error_codes: [...errorCodes] };
      logger.info(line, 'items wait for another try');
    }
    const tookMs = Math.round(performance.now() - this.#startedAtMs);
    if (this.#batches > 0) {
      const { claim, providers } = controllers ?? {};
      const turn = { ...ids, batches: this.#batches, ended: this.#ended, late: this.#late, tookMs };
      logger.debug({ ...turn, claim, providers }, 'a turn of items was committed');
    }
    if (isLast) logger.info({ ...ids }, 'every item of the job has ended');
  }

  #addRetry(retryClass: RetryClass, { delayMs, errorCode }: ItemChange): void {
    const seen = this.#retries.get(retryClass) ?? {
      items: 0,
      shortestMs: Number.POSITIVE_INFINITY,
      longestMs: 0,
      errorCodes: new Set(),
    };
    seen.items += 1;
    seen.shortestMs = Math.min(seen.shortestMs, delayMs ?? 0);
    seen.longestMs = Math.max(seen.longestMs, delayMs ?? 0);
    if (errorCode !== null && seen.errorCodes.size < maxCodes) seen.errorCodes.add(errorCode);
    this.#retries.set(retryClass, seen);
  }
}

export interface TurnIds {
  tenant_id: string;
  job_id: string;
  correlation_id: string;
}
