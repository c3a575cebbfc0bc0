import type { Logger } from '../../../../lib/log.ts';
import type { Chunk } from '../../chunkers/chunker.ts';
import { knowledgeFailures } from '../../errors.ts';
import { presentStatement, type StoredChunk } from '../../index/chunk-store.ts';
import type { EmbeddedGroup, Group, SliceContext } from '../context.ts';
import { type EmbeddedChunks, Embedding } from './embedding.ts';
import type { InFlight, Reservation } from './in-flight.ts';
import { mapInOrder } from './load-ahead.ts';

/**
 * Embeds several groups at the same time, and passes them on in order. Chunks that are already in the index, or in an
 * earlier group, cost no call.
 */
export class EmbedStep {
  readonly #context: SliceContext;
  readonly #embedding: Embedding;
  readonly #slots: Slots;
  /** Hashes that unfinished groups embed; each stays until its group is committed. */
  readonly #taken = new Set<string>();
  readonly #refused: EmbeddedGroup['refused'] = new Map();
  /** Tokens that count against the budget: those of the run so far, and of all groups of this slice. */
  #spent: number;
  /** Keeps groups in order, so that the rest of a budget goes to the first; after a failure all later ones fail. */
  #prepared: Promise<unknown> = Promise.resolve();

  /** What this slice embeds for all runs of the process, by group. */
  readonly #reservations = new Map<Group, Reservation>();
  readonly #inFlight: InFlight;
  #isClosed = false;

  constructor(context: SliceContext, { signal, inFlight }: { signal: AbortSignal; inFlight: InFlight }) {
    this.#context = context;
    this.#inFlight = inFlight;
    this.#embedding = new Embedding(context, signal);
    this.#slots = new Slots(context.run.embedder.limits.callsInFlight);
    const { counters, checkpoint } = context.run;
    this.#spent = counters.tokens_embedded - checkpoint.budget_from;
  }

  run(groups: AsyncIterable<ChunkedGroup>): AsyncGenerator<EmbeddedGroup> {
    // One more than calls, so that the next one starts while a group is being committed.
    return mapInOrder(groups, this.#slots.count + 1, (chunked) => this.#embedGroup(chunked));
  }

  /** Embeds chunks that were deleted from the index after they were looked up. */
  async embedAgain(embedded: EmbeddedGroup, hashes: readonly string[]): Promise<EmbeddedGroup> {
    const lost = chunksOf(embedded.group).filter(({ contentHash }) => hashes.includes(contentHash));
    const { vectors, refused } = await this.#embedding.embed(lost, this.#loggerOf(embedded.group));
    const tokens = tokensOf(lost);
    this.#spent += tokens;
    return {
      ...embedded,
      vectors: new Map([...embedded.vectors, ...vectors]),
      refused: new Map([...embedded.refused, ...refused]),
      tokens: embedded.tokens + tokens,
    };
  }

  committed({ group }: EmbeddedGroup): void {
    for (const { contentHash } of chunksOf(group)) this.#taken.delete(contentHash);
    this.#reservations.get(group)?.release();
    this.#reservations.delete(group);
  }

  /** Nothing more of this slice will be committed. */
  close(): void {
    this.#isClosed = true;
    for (const reservation of this.#reservations.values()) reservation.release();
    this.#reservations.clear();
  }

  /** Reserves its hashes before its first await: groups start in order, so the first of two embeds a text. */
  async #embedGroup({ group, chunks }: ChunkedGroup): Promise<EmbeddedGroup> {
    const mine = chunks.filter(({ contentHash }) => !this.#taken.has(contentHash));
    for (const { contentHash } of mine) this.#taken.add(contentHash);
    const preparing = this.#prepared.then(() => this.#prepare(mine));
    preparing.catch(() => {});
    this.#prepared = preparing;
    const { missing, tokens } = await preparing;
    const reservation = this.#inFlight.reserve(this.#context.run.key, missing);
    this.#reservations.set(group, reservation);
    if (this.#isClosed) {
      this.close();
      throw new Error('The slice ended before this group was embedded');
    }
    const others = missing.filter(({ contentHash }) => reservation.others.has(contentHash));
    const own = missing.filter(({ contentHash }) => !reservation.others.has(contentHash));
    const embedded = await this.#call(group, own);
    for (const { contentHash } of own)
      reservation.tell(contentHash, embedded.vectors.get(contentHash) ?? null);
    // Own chunks first: otherwise two runs could wait for each other for ever.
    const left: Chunk[] = [];
    for (const chunk of others) {
      const vector = await reservation.others.get(chunk.contentHash);
      if (vector) embedded.vectors.set(chunk.contentHash, vector);
      else left.push(chunk);
    }
    const rest = await this.#call(group, left);
    const given = tokensOf(others) - tokensOf(left);
    return {
      group,
      vectors: new Map([...embedded.vectors, ...rest.vectors]),
      refused: this.#refused,
      tokens: tokens - given,
    };
  }

  async #call(group: Group, chunks: readonly Chunk[]): Promise<EmbeddedChunks> {
    if (chunks.length === 0) return { vectors: new Map(), refused: new Map() };
    const release = await this.#slots.take();
    try {
      const embedded = await this.#embedding.embed(chunks, this.#loggerOf(group));
      for (const [hash, reason] of embedded.refused) this.#refused.set(hash, reason);
      return embedded;
    } finally {
      release();
    }
  }

  async #prepare(mine: readonly Chunk[]): Promise<{ missing: Chunk[]; tokens: number }> {
    const present = await this.#findPresent(mine);
    const missing = mine.filter(
      ({ contentHash }) => !present.has(contentHash) && !this.#refused.has(contentHash),
    );
    const tokens = tokensOf(missing);
    this.#reserve(tokens);
    return { missing, tokens };
  }

  async #findPresent(chunks: readonly Chunk[]): Promise<Set<string>> {
    if (chunks.length === 0) return new Set();
    const { deps, key } = this.#context.run;
    const hashes = chunks.map(({ contentHash }) => contentHash);
    const context = { role: 'sluice_tenant', tenantId: key.tenantId } as const;
    const present = await deps.db.statement<StoredChunk>(context, presentStatement(key, hashes));
    return new Set(present.map(({ contentHash }) => contentHash));
  }

  #loggerOf({ batchId, parts }: Group): Logger {
    const chunk = parts[0]?.chunks[0]?.ordinal;
    return this.#context.logger.child({ step: 'embed', batch: batchId, chunk });
  }

  #reserve(tokens: number): void {
    const { budget } = this.#context.run;
    if (budget && tokens > 0 && this.#spent + tokens > budget.maxTokens) {
      throw knowledgeFailures.raise.budget_exhausted(
        `The budget of ${budget.maxTokens} tokens is used up: ${this.#spent} tokens were embedded, and the next ` +
          `chunks need ${tokens}`,
      );
    }
    this.#spent += tokens;
  }
}

/** What is embedded: the chunks of a group. */
export interface ChunkedGroup {
  group: Group;
  chunks: readonly Chunk[];
}

export function withChunks(group: Group): ChunkedGroup {
  return { group, chunks: chunksOf(group) };
}

/** Each text once. */
export function chunksOf({ parts }: Group): Chunk[] {
  const chunks = parts.flatMap((part) => part.chunks.map(({ chunk }) => chunk));
  return [...new Map(chunks.map((chunk) => [chunk.contentHash, chunk])).values()];
}

function tokensOf(chunks: readonly Chunk[]): number {
  return chunks.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** A semaphore that is first come, first served. */
class Slots {
  readonly count: number;
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.count = Math.max(1, count);
    this.#free = this.count;
  }

  async take(): Promise<() => void> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return () => {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    };
  }
}
