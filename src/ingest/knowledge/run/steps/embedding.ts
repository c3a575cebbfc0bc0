import { setTimeout as sleep } from 'node:timers/promises';
import { decideRetry, type RetryPolicy } from '../../../../kernel/jobs/run/retry.ts';
import type { Dependency } from '../../../../kernel/limits/types.ts';
import { isSluiceError, messageOf, type SluiceError } from '../../../../lib/errors.ts';
import type { Logger } from '../../../../lib/log.ts';
import type { Chunk } from '../../chunkers/chunker.ts';
import { embeddedText } from '../../chunkers/context.ts';
import type { Embedder, EmbedderSettings } from '../../embedders/embedder.ts';
import type { SliceContext } from '../context.ts';

/** The provider throttles or is down: the run waits, and no attempt is used. */
export class ProviderWait extends Error {
  readonly delayMs: number;
  constructor(message: string, delayMs: number) {
    super(message);
    this.delayMs = delayMs;
  }
}

/** The job was paused, or the worker drains, while chunks waited for their next attempt. */
export class Yielded extends Error {}

export interface EmbeddedChunks {
  vectors: Map<string, Float32Array>;
  refused: Map<string, { code: string; message: string }>;
}

/** Three attempts: two retries after min(2^attempt * 2, 60) seconds, attempts counted from 1. */
export const chunkRetries: RetryPolicy = {
  maxRetries: 2,
  delay: { type: 'exponential', baseMs: 4_000, capMs: 60_000, jitter: 0 },
};
/** How often a wait checks the gate. */
const lookEveryMs = 250;
const throttledWaitMs = { usual: 5_000, most: 3_600_000 };
/** Short enough for a restart; after a few more failures the breaker opens and sets the delay. */
const downWaitMs = 5_000;
const maxReason = 500;
/** A text that any embedder accepts. */
const harmless = { text: 'Hello.' };

/** Embeds chunks with retries. If those fail, it tries halves, so that one chunk cannot fail the others. */
export class Embedding {
  readonly #context: SliceContext;
  readonly #dependency: Dependency;
  readonly #name: string;
  readonly #signal: AbortSignal;
  /** Failures are recorded, of this run or of earlier ones, which ended before they could record a success. */
  #hasFailed = false;

  constructor(context: SliceContext, signal: AbortSignal) {
    this.#context = context;
    const { key, target } = context.run;
    this.#name = nameOf(target.embedder);
    this.#dependency = dependencyOf(this.#name, { tenantId: key.tenantId, embedder: target.embedder });
    this.#signal = signal;
  }

  async embed(chunks: readonly Chunk[], logger: Logger): Promise<EmbeddedChunks> {
    const result: EmbeddedChunks = { vectors: new Map(), refused: new Map() };
    if (chunks.length > 0) await this.#embedInto(result, { chunks, logger, failed: 0 });
    return result;
  }

  async #embedInto(result: EmbeddedChunks, { chunks, logger, failed }: Attempt): Promise<void> {
    for (let attempt = failed; ; attempt += 1) {
      try {
        const vectors = await this.#call(chunks, { isSuspect: failed > 0 });
        for (const [index, { contentHash }] of chunks.entries()) {
          result.vectors.set(contentHash, vectors[index] as Float32Array);
        }
        return;
      } catch (error) {
        if (!(error instanceof CallFailed)) throw error;
        const { cause } = error;
        const decision = isInvalid(cause) ? ({ retry: false } as const) : decideRetry(chunkRetries, attempt);
        if (!decision.retry) return this.#giveUp(result, { chunks, logger, error: cause });
        logger.warn({ err: cause, attempt: attempt + 1 }, 'embedding chunks is retried');
        await this.#waitAtGate(decision.delayMs);
      }
    }
  }

  /**
   * A single chunk is refused, unless the provider fails for other texts too. Of several chunks each half is tried
   * once. Before that the provider must accept a harmless text: otherwise the failing halves would count against it,
   * and its breaker would open for everyone before the bad chunk is found.
   */
  async #giveUp(
    result: EmbeddedChunks,
    { chunks, logger, error }: { chunks: readonly Chunk[]; logger: Logger; error: unknown },
  ): Promise<void> {
    const [only, second] = chunks;
    if (only && second === undefined) {
      if (isTransient(error)) await this.#assertUp();
      const code = isSluiceError(error) ? error.code : 'chunk_refused';
      result.refused.set(only.contentHash, { code, message: messageOf(error).slice(0, maxReason) });
      logger.warn({ err: error, content_hash: only.contentHash }, 'a chunk is left out');
      return;
    }
    if (isTransient(error)) await this.#assertUp();
    const middle = Math.ceil(chunks.length / 2);
    const failed = chunkRetries.maxRetries;
    await this.#embedInto(result, { chunks: chunks.slice(0, middle), logger, failed });
    await this.#embedInto(result, { chunks: chunks.slice(middle), logger, failed });
  }

  /**
   * A provider that is down or overloaded fails for every text: then the run waits, as with an open breaker. A provider
   * that accepts a harmless text but fails for these chunks cannot embed one of them.
   */
  async #assertUp(): Promise<void> {
    try {
      await this.#call([harmless]);
    } catch (error) {
      if (!(error instanceof CallFailed) || !isTransient(error.cause)) throw error;
      throw new ProviderWait(`${this.#name} is down: ${error.message}`, downWaitMs);
    }
  }

  /** `isSuspect`: one of the chunks may be the cause of a failure, so a failure says nothing about the provider. */
  async #call(
    chunks: readonly Pick<Chunk, 'text' | 'context'>[],
    { isSuspect = false } = {},
  ): Promise<Float32Array[]> {
    const { slice, run } = this.#context;
    const answer = await run.deps.breakers.check(this.#dependency);
    if (!answer.allowed) {
      throw new ProviderWait(`${this.#name} is down; its breaker is open`, answer.retryInMs);
    }
    this.#hasFailed ||= answer.hasFailed;
    await slice.assertHeld();
    this.#signal.throwIfAborted();
    // The probe uses a text that cannot be the cause of the failures.
    const isProbe = answer.isProbe && chunks[0] === harmless;
    if (answer.isProbe && !isProbe) await this.#probe();
    return this.#send(chunks, { isProbe, isSuspect });
  }

  async #probe(): Promise<void> {
    try {
      await this.#send([harmless], { isProbe: true, isSuspect: false });
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error;
      throw new ProviderWait(`${this.#name} is still down: ${error.message}`, downWaitMs);
    }
  }

  async #send(
    chunks: readonly Pick<Chunk, 'text' | 'context'>[],
    { isProbe, isSuspect }: { isProbe: boolean; isSuspect: boolean },
  ): Promise<Float32Array[]> {
    const { run } = this.#context;
    const { breakers, metrics } = run.deps;
    const { provider } = run.embedder;
    const options = { signal: this.#signal, tenantId: run.key.tenantId };
    const startedAtMs = performance.now();
    try {
      const texts = chunks.map(embeddedText);
      const vectors = checked(run.embedder, texts, await run.embedder.embed(texts, options));
      const tookMs = performance.now() - startedAtMs;
      metrics.calls.inc({ provider, answer: 'ok' });
      metrics.callSeconds.observe({ provider }, tookMs / 1000);
      run.size.noteCall({ texts: texts.length, tookMs });
      if (isProbe || this.#hasFailed) await breakers.recordSuccess(this.#dependency);
      this.#hasFailed = false;
      return vectors;
    } catch (error) {
      this.#signal.throwIfAborted();
      metrics.calls.inc({ provider, answer: isSluiceError(error) ? error.code : 'failed' });
      throw await this.#learn(error, isSuspect);
    }
  }

  /** Records what a failed call says about the provider; returns the error to throw. */
  async #learn(error: unknown, isSuspect: boolean): Promise<Error> {
    const { run } = this.#context;
    const { breakers, metrics } = run.deps;
    run.size.noteFailure();
    if (!isSluiceError(error)) return new CallFailed(error);
    switch (error.kind) {
      case 'rate_limited': {
        metrics.throttled(run.embedder.provider);
        return new ProviderWait(error.message, throttledFor(error));
      }
      case 'transient':
        if (!isSuspect) {
          this.#hasFailed = true;
          await breakers.recordFailure(this.#dependency, error.message);
        }
        return new CallFailed(error);
      case 'invalid':
        return new CallFailed(error);
      // A wrong key or an unknown model needs a person.
      default:
        return error;
    }
  }

  async #waitAtGate(delayMs: number): Promise<void> {
    const { slice, run } = this.#context;
    const wait = run.deps.wait ?? waitByClock;
    for (let leftMs = delayMs; leftMs > 0; leftMs -= lookEveryMs) {
      if (slice.shouldYield())
        throw new Yielded('The run was asked to stop while chunks waited for their next attempt');
      await wait(Math.min(leftMs, lookEveryMs), this.#signal);
    }
  }
}

interface Attempt {
  chunks: readonly Chunk[];
  logger: Logger;
  /** Earlier attempts to embed these chunks together. */
  failed: number;
}

/** The call failed; the cause is what the embedder threw. */
class CallFailed extends Error {
  constructor(cause: unknown) {
    super(messageOf(cause), { cause });
  }
}

function isInvalid(error: unknown): boolean {
  return isSluiceError(error) && error.kind === 'invalid';
}

function isTransient(error: unknown): boolean {
  return isSluiceError(error) && error.kind === 'transient';
}

function throttledFor({ details, retryAfterSeconds }: SluiceError): number {
  const { retryInMs } = details as { retryInMs?: unknown };
  const told = typeof retryInMs === 'number' ? retryInMs : (retryAfterSeconds ?? 0) * 1000;
  return Math.min(told > 0 ? told : throttledWaitMs.usual, throttledWaitMs.most);
}

/** A custom embedder may be wrong about its dimensions; a vector of another length would spoil the whole index. */
function checked({ provider, dimensions }: Embedder, texts: readonly string[], vectors: Float32Array[]) {
  if (vectors.length !== texts.length) {
    throw new Error(
      `${provider} returned ${vectors.length} vectors for ${texts.length} texts; it must return one for each`,
    );
  }
  for (const vector of vectors) {
    if (vector.length !== dimensions) {
      throw new Error(
        `${provider} returned a vector of ${vector.length} dimensions instead of ${dimensions}`,
      );
    }
    if (!vector.every(Number.isFinite))
      throw new Error(`${provider} returned a vector with a value that is not a number`);
  }
  return vectors;
}

/**
 * An endpoint that a tenant has named has a breaker of that tenant's own: a wrong path or key of one must not stop the
 * runs of others on that host. The embedders of the installation are shared, and so are their breakers.
 */
function dependencyOf(
  name: string,
  { tenantId, embedder }: { tenantId: string; embedder: EmbedderSettings },
): Dependency {
  return embedder.provider === 'openai' ? { tenantId, name } : name;
}

function nameOf(settings: EmbedderSettings): string {
  switch (settings.provider) {
    case 'openai':
      return `embedder ${URL.canParse(settings.baseUrl) ? new URL(settings.baseUrl).host : settings.baseUrl}`;
    case 'custom':
      return `embedder ${settings.name}`;
    default:
      return `embedder ${settings.provider}`;
  }
}

function waitByClock(delayMs: number, signal: AbortSignal): Promise<void> {
  return sleep(delayMs, undefined, { signal });
}
