import { setTimeout as sleep } from 'node:timers/promises';
import type { Job } from '../../../kernel/jobs/types.ts';
import { RowNormalizer, type RowNormalizing } from '../../../kernel/rows/normalized-fields.ts';
import { isSluiceError } from '../../../lib/errors.ts';
import type { ConnectionWait } from '../../../lib/postgres/pool/connection-pool.ts';
import { parseExactly } from '../../../lib/rows/exact-json.ts';
import { collectColumns } from '../../../lib/rows/json-members.ts';
import type { ParsedRow } from '../../../lib/rows/types.ts';
import { createTurns } from '../../../lib/timing/event-loop-turns.ts';
import { toStorable } from '../../../lib/well-formed.ts';
import { recordImages } from '../images/item-images.ts';
import { imagesIn } from '../images/open-images.ts';
import {
  type IngestBounds,
  type IngestState,
  initialIngestState,
  nextIngestState,
} from '../processing/controllers/ingest-batch.ts';
import type { Processor } from '../processing/processors/types.ts';
import { type ItemBatch, insertItems } from '../store.ts';
import type { JobKey, JobSource } from '../types.ts';
import type { IngestDeps } from './ingest.ts';

const maxInsertTries = 5;

export type PreparedBatch = Pick<ItemBatch, 'firstRowNo' | 'inputs' | 'normalized'>;

/** A processor may define its own normalized fields. */
export function normalizerOf(processor: Processor, columns: readonly string[] | null): RowNormalizing {
  if (!processor.normalize) return new RowNormalizer(columns);
  return {
    normalize: (inputJson) => {
      const made = processor.normalize?.(parseExactly(inputJson) as Record<string, unknown>);
      return made === undefined || made === null ? null : JSON.stringify(toStorable(made));
    },
  };
}

/** Writes batches of a size that the database can handle, and learns from each how large the next should be. */
export class BatchWriter {
  readonly #takeTurn = createTurns();
  readonly #deps: IngestDeps;
  readonly #key: JobKey & { userId: string };
  readonly #bounds: IngestBounds;
  readonly #normalizer: RowNormalizing;
  readonly #source: JobSource;
  readonly #startedAtMs = performance.now();
  readonly #written = { rows: 0, batches: 0, failed: 0, waitMs: 0 };
  readonly #trace = new IngestTrace();
  readonly columns: Set<string>;
  #state: IngestState;

  constructor(
    deps: IngestDeps,
    { key, processor, source }: { key: JobKey & { userId: string }; processor: Processor; source: JobSource },
  ) {
    this.#deps = deps;
    this.#key = key;
    this.#normalizer = normalizerOf(processor, source.columns);
    this.#source = source;
    this.columns = new Set(source.columns ?? []);
    this.#bounds = deps.bounds;
    this.#state = initialIngestState(this.#bounds);
  }

  get state(): IngestState {
    return this.#state;
  }

  get rows(): number {
    return this.#written.rows;
  }

  /** The state of the controller that people see once the file is ingested. */
  describe(): object {
    const { rows, reason, latencyEwmaMs, bytesPerRow } = this.#state;
    const round = (value: number | null) => (value === null ? null : Math.round(value * 10) / 10);
    return {
      rows,
      reason,
      latencyEwmaMs: round(latencyEwmaMs),
      targetMs: this.#bounds.dbP50Ms,
      bytesPerRow: round(bytesPerRow),
      history: this.#trace.points,
    };
  }

  async write(rows: readonly ParsedRow[]): Promise<void> {
    const { jobType } = this.#source;
    const batch = await this.prepare(rows);
    const images = imagesIn(rows);
    await this.writeBy(rows, () =>
      this.#deps.db.tenant(this.#key.tenantId, async (tx) => {
        await insertItems(tx, { ...this.#key, jobType, ...batch });
        if (images.length > 0) await recordImages(tx, { files: this.#deps.files, key: this.#key, images });
        return tx.wait;
      }),
    );
  }

  /** The rows as they are inserted. Their columns are known from then on. */
  async prepare(rows: readonly ParsedRow[]): Promise<PreparedBatch> {
    if (this.#source.columns === null) await this.#collectColumns(rows);
    const inputs = rows.map((row) => row.inputJson);
    const each = await this.#normalize(inputs);
    const normalized = each.some((text) => text !== null) ? each : null;
    return { firstRowNo: rows[0]?.rowNo ?? 1, inputs, normalized };
  }

  /** `insert` may be called several times; each time it inserts everything or nothing. */
  async writeBy<Written extends ConnectionWait>(
    rows: readonly ParsedRow[],
    insert: () => Promise<Written>,
  ): Promise<Written> {
    for (let attempt = 1; ; attempt += 1) {
      const startedAtMs = performance.now();
      try {
        const written = await insert();
        this.#source.written(rows);
        // Waiting is a separate signal: a full pool is not a slow database.
        const latencyMs = Math.max(0, performance.now() - startedAtMs - written.totalMs);
        this.#learn(rows, { latencyMs, poolWaitMs: written.queuedMs });
        this.#deps.itemMetrics.inserted(latencyMs);
        return written;
      } catch (error) {
        this.#learn(rows, { latencyMs: performance.now() - startedAtMs, poolWaitMs: 0, failed: true });
        if (!isWorthARetry(error) || attempt === maxInsertTries) throw error;
        this.#logFailure(error, attempt);
        await sleep(this.#state.delayMs);
      }
    }
  }

  logEnd(job: Job): void {
    const { latencyEwmaMs, rows, reason } = this.#state;
    const tookMs = Math.round(performance.now() - this.#startedAtMs);
    const next = { rows, reason, latencyEwmaMs };
    this.#deps.logger.info(
      { ...this.#ids(), correlation_id: job.correlationId, ...this.#written, tookMs, batch: next },
      'a file was ingested',
    );
  }

  async #collectColumns(rows: readonly ParsedRow[]): Promise<void> {
    for (const row of rows) {
      collectColumns(this.columns, [row]);
      const turn = this.#takeTurn();
      if (turn !== undefined) await turn;
    }
  }

  /** A batch may be one of long rows: other requests get their turn in between. */
  async #normalize(inputs: readonly string[]): Promise<(string | null)[]> {
    const normalized: (string | null)[] = [];
    for (const input of inputs) {
      normalized.push(this.#normalizer.normalize(input));
      const turn = this.#takeTurn();
      // Most rows take microseconds, and waiting for nothing would cost more.
      if (turn !== undefined) await turn;
    }
    return normalized;
  }

  #learn(
    rows: readonly ParsedRow[],
    seen: { latencyMs: number; poolWaitMs: number; failed?: boolean },
  ): void {
    const bytes = rows.reduce((sum, row) => sum + row.sizeBytes, 0);
    const before = this.#state.rows;
    this.#state = nextIngestState(this.#state, { rows: rows.length, bytes, ...seen }, this.#bounds);
    this.#trace.add(performance.now() - this.#startedAtMs, { rows: before, latencyMs: seen.latencyMs });
    this.#written.batches += 1;
    this.#written.waitMs += Math.round(seen.poolWaitMs);
    if (seen.failed) this.#written.failed += 1;
    else this.#written.rows += rows.length;
    const { rows: next, reason } = this.#state;
    this.#deps.logger.debug(
      { ...this.#ids(), rows: rows.length, before, next, reason, ...seen },
      'a batch of rows',
    );
  }

  #logFailure(error: unknown, attempt: number): void {
    const { delayMs, rows, reason } = this.#state;
    const line = { ...this.#ids(), err: error, attempt, delayMs, rows, reason };
    this.#deps.logger.warn(line, 'an insert of rows failed and will be retried');
  }

  /** An items job is its own correlation. */
  #ids() {
    return { tenant_id: this.#key.tenantId, job_id: this.#key.jobId, correlation_id: this.#key.jobId };
  }
}

/** A lost COMMIT may have written the rows. A retry would duplicate them, so the whole ingest is removed instead. */
function isWorthARetry(error: unknown): boolean {
  return (
    isSluiceError(error) && ['database_unavailable', 'write_conflict', 'query_timeout'].includes(error.code)
  );
}

/** When a batch was written (ms since the start), its planned rows, and how long its insert took. */
export type IngestPoint = [atMs: number, rows: number, latencyMs: number];

const most = 32;

/** How the batch size developed during an ingest: a few points, whatever the length of the file. */
export class IngestTrace {
  #points: IngestPoint[] = [];
  #step = 1;
  #seen = 0;

  get points(): readonly IngestPoint[] {
    return this.#points;
  }

  add(atMs: number, { rows, latencyMs }: { rows: number; latencyMs: number }): void {
    const isKept = this.#seen % this.#step === 0;
    this.#seen += 1;
    if (!isKept) return;
    this.#points.push([Math.round(atMs), rows, Math.round(latencyMs * 10) / 10]);
    if (this.#points.length < most) return;
    // From here on every other batch; drop every other earlier point too.
    this.#points = this.#points.filter((_, index) => index % 2 === 0);
    this.#step *= 2;
  }
}
