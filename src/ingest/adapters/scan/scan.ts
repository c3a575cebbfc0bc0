import type { Ground } from '../../../kernel/house/house.ts';
import { isSluiceError, messageOf } from '../../../lib/errors.ts';
import { newId } from '../../../lib/ids.ts';
import { isWanted } from '../files/file-names.ts';
import { forgetUnseen, listEnded, listMovedWaiting, readClock, recordLooks } from '../files/store.ts';
import type { AdapterMetrics } from '../metrics.ts';
import { openPlace, type SourceDeps } from '../sources/open-place.ts';
import type {
  Adapter,
  AdapterFile,
  FileLook,
  FileSource,
  FoundFile,
  ScanCounts,
  ScannedFile,
  ScanReport,
  TargetDoors,
} from '../types.ts';
import { HeldScan } from './lease.ts';
import { isAside, moveAside } from './moving.ts';
import { endScan } from './store.ts';
import { failMissing, takeFile } from './taking.ts';

export interface ScanDeps extends SourceDeps, Pick<Ground, 'db' | 'logger'> {
  doors: TargetDoors;
  adapterMetrics: AdapterMetrics;
  leaseMs: number;
  workerId: string;
}

export interface ScanLimits {
  /** After this time no further file is started. */
  budgetMs: number;
  signal?: AbortSignal | undefined;
}

/** A limit on the pages of a list, far above any place that is worth scanning. */
const maxBatches = 10_000;
const maxRetried = 500;
const maxReported = 200;
const forgetSize = 5_000;

/** Scans an adapter's place once and ingests each file that no longer changes. Errors are part of the report. */
export async function scanAdapter(deps: ScanDeps, adapter: Adapter, limits: ScanLimits): Promise<ScanReport> {
  const held = await HeldScan.claim(deps, adapter);
  if (held === null) return { ...emptyReport(adapter), isBusy: true, scanningBy: adapter.scanningBy };
  const startedMs = performance.now();
  const scan = new Scan(deps, { adapter, held, limits });
  try {
    const report = await scan.run();
    const outcome = report.error === null ? 'ok' : 'error';
    const seconds = (performance.now() - startedMs) / 1000;
    deps.adapterMetrics.scan(adapter.place.kind, { outcome, seconds });
    const { seen, ingested, duplicates, waiting, failed, moved } = report;
    const counts = { seen, ingested, duplicates, waiting, failed, moved };
    const line = { tenant_id: adapter.tenantId, adapter: adapter.name, ...counts, seconds, err: scan.error };
    if (report.error !== null) deps.logger.warn(line, 'a scan of an adapter ended early');
    else deps.logger.debug(line, 'an adapter was scanned');
    return report;
  } finally {
    await held.giveBack();
  }
}

export function emptyReport({ name }: { name: string }): ScanReport {
  return {
    ...{ adapter: name, isBusy: false, scanningBy: null, isComplete: true, errorCode: null, error: null },
    ...{ seen: 0, ingested: 0, duplicates: 0, waiting: 0, failed: 0, moved: 0, files: [] },
  };
}

/** A scan that holds its lease and has opened the adapter's place. */
export interface OpenScan {
  deps: ScanDeps;
  adapter: Adapter;
  held: HeldScan;
  source: FileSource;
}

/** A file as the place lists it now, and its record. */
interface Shown {
  row: AdapterFile;
  file: FoundFile;
}

class Scan {
  error: unknown;
  readonly #deps: ScanDeps;
  readonly #adapter: Adapter;
  readonly #held: HeldScan;
  readonly #signal: AbortSignal | undefined;
  readonly #deadlineMs: number;
  readonly #report: ScanReport;

  constructor(deps: ScanDeps, given: { adapter: Adapter; held: HeldScan; limits: ScanLimits }) {
    this.#deps = deps;
    this.#adapter = given.adapter;
    this.#held = given.held;
    this.#signal = given.limits.signal;
    this.#deadlineMs = performance.now() + given.limits.budgetMs;
    this.#report = emptyReport(given.adapter);
  }

  async run(): Promise<ScanReport> {
    let source: FileSource | null = null;
    try {
      const { tenantId, target } = this.#adapter;
      await this.#deps.doors[target.kind].check(tenantId, target);
      source = await openPlace(this.#deps, this.#adapter);
      await this.#lookThrough(source);
    } catch (error) {
      this.error = error;
      this.#report.error = describeError(error);
      this.#report.errorCode = isSluiceError(error) ? error.code : 'bug';
      this.#report.isComplete = false;
    } finally {
      await source?.close().catch(() => {});
      this.#held.stop();
    }
    await this.#end();
    return this.#report;
  }

  async #lookThrough(source: FileSource): Promise<void> {
    const since = await this.#held.write(readClock);
    const scan = { deps: this.#deps, adapter: this.#adapter, held: this.#held, source };
    let batches = 0;
    for await (const files of source.list((name) => isWanted(name, this.#adapter.pattern))) {
      if (batches >= maxBatches || (files.length > 0 && this.#mustStop())) {
        this.#report.isComplete = false;
        break;
      }
      await this.#goThrough(files, scan);
      batches += 1;
    }
    if (this.#report.isComplete) await this.#forgetUnseen(since);
    await this.#retryMoved(scan);
  }

  /** Ingests the files of a batch that are ready. A file that was processed before costs only one lookup. */
  async #goThrough(batch: readonly FoundFile[], scan: OpenScan): Promise<void> {
    if (batch.length === 0) return;
    this.#report.seen += batch.length;
    const files = new Map(batch.map((file) => [file.path, file]));
    const { ended, waiting } = await this.#look(batch);
    // These were ingested but not moved: the process died in between, or the place refused.
    for (const row of ended) await this.#move(scan, { row, file: row });
    for (const row of waiting.sort((one, other) => (one.path < other.path ? -1 : 1))) {
      const file = files.get(row.path);
      if (!file || !this.#isReady(file, { row, source: scan.source })) continue;
      if (this.#mustStop()) {
        this.#report.isComplete = false;
        this.#note(row, {
          outcome: 'waiting',
          reason: 'The scan ran out of time; the next one continues',
        });
        continue;
      }
      await this.#takeAndMove(scan, { row, file });
    }
  }

  async #look(batch: readonly FoundFile[]): Promise<{ ended: AdapterFile[]; waiting: AdapterFile[] }> {
    const { tenantId, name } = this.#adapter;
    return this.#held.write(async (tx) => {
      const ended = await listEnded(tx, { tenantId, name, files: batch });
      const known = new Set(ended.map(({ path }) => path));
      const files = batch.filter(({ path }) => !known.has(path));
      const fileIds = files.map(() => newId());
      const waiting = files.length > 0 ? await recordLooks(tx, { tenantId, name, files, fileIds }) : [];
      return { ended, waiting };
    });
  }

  /** A file is ready when two scans have seen it unchanged and it has not changed for `settle_seconds`. */
  #isReady(file: FoundFile, { row, source }: { row: AdapterFile; source: FileSource }): boolean {
    const { settleSeconds } = this.#adapter;
    if (source.isAtomic || settleSeconds === 0) return true;
    const writtenMs = file.modifiedAt === null ? 0 : Date.now() - file.modifiedAt.getTime();
    const restsMs = Math.max(row.sameForMs, writtenMs);
    if (row.looks >= 2 && restsMs >= settleSeconds * 1000) return true;
    const reason = row.looks < 2 ? 'This version was seen for the first time' : 'It changed a moment ago';
    this.#note(row, { outcome: 'waiting', reason: `${reason}; it may still be written to` });
    return false;
  }

  async #forgetUnseen(since: Date): Promise<void> {
    const { tenantId, name } = this.#adapter;
    await this.#held.write((tx) => forgetUnseen(tx, { tenantId, name, since, limit: forgetSize }));
  }

  async #takeAndMove(scan: OpenScan, { row, file }: Shown): Promise<void> {
    const { end, outcome, reason } = await takeFile(scan, row, file);
    this.#note({ ...row, ...end }, { outcome, reason });
    if (end !== null) await this.#move(scan, { row: { ...row, ...end }, file });
  }

  /** Retries files that failed and were moved aside, from where they are now. */
  async #retryMoved(scan: OpenScan): Promise<void> {
    const { tenantId, name } = this.#adapter;
    const rows = await this.#held.write((tx) => listMovedWaiting(tx, { tenantId, name, limit: maxRetried }));
    for (const row of rows) {
      if (this.#mustStop()) {
        this.#report.isComplete = false;
        return;
      }
      const file = await scan.source.find(row.movedTo ?? row.path);
      if (file !== null) {
        await this.#takeAndMove(scan, { row, file });
        continue;
      }
      const { end, reason } = await failMissing(scan, row);
      this.#note({ ...row, ...end }, { outcome: 'failed', reason });
    }
  }

  async #move(scan: OpenScan, { row, file }: { row: AdapterFile; file: FileLook }): Promise<void> {
    if (this.#adapter.after !== 'move' || isAside(row)) return;
    const trouble = await moveAside(scan, row, file);
    if (trouble === null) this.#report.moved += 1;
    else this.#note(row, { outcome: 'not_moved', reason: trouble });
  }

  #mustStop(): boolean {
    if (this.#held.isLost || this.#signal?.aborted === true) return true;
    return performance.now() >= this.#deadlineMs;
  }

  #note(row: AdapterFile, { outcome, reason }: Pick<ScannedFile, 'outcome' | 'reason'>): void {
    const counts = {
      ingested: 'ingested',
      duplicate: 'duplicates',
      waiting: 'waiting',
      failed: 'failed',
    } as const;
    if (outcome !== 'not_moved') this.#report[counts[outcome]] += 1;
    this.#deps.adapterMetrics.file(outcome);
    if (this.#report.files.length >= maxReported) return;
    const { path, fileId, jobId, uploadId } = row;
    this.#report.files.push({ path, fileId, jobId, uploadId, outcome, reason });
  }

  async #end(): Promise<void> {
    const { seen, ingested, duplicates, waiting, failed, moved, isComplete, error, errorCode } = this.#report;
    const counts: ScanCounts = { seen, ingested, duplicates, waiting, failed, moved };
    const soon = isComplete ? Math.max(this.#adapter.settleSeconds, 2) : 1;
    const againInSeconds = waiting > 0 || !isComplete ? soon : null;
    try {
      const { db } = this.#deps;
      const end = { ...this.#held.key, counts, error, errorCode, againInSeconds };
      await db.tenant(this.#adapter.tenantId, (tx) => endScan(tx, end));
    } catch (err) {
      this.#deps.logger.warn(
        { err, adapter: this.#adapter.name },
        'the result of a scan could not be recorded',
      );
    }
  }
}

/** The message of an unexpected error is marked as such; the log has the stack. */
function describeError(error: unknown): string {
  return (isSluiceError(error) ? error.message : `Unexpected: ${messageOf(error)}`).slice(0, 2_000);
}
