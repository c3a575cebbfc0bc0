import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import pino from 'pino';
import { Registry } from 'prom-client';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { readIntakeFields } from '../../../src/ingest/uploads/intake/fields.ts';
import { takeIn } from '../../../src/ingest/uploads/intake/intake.ts';
import { UploadMetrics } from '../../../src/ingest/uploads/metrics.ts';
import { uploadsPipeline } from '../../../src/ingest/uploads/pipeline.ts';
import type { Upload } from '../../../src/ingest/uploads/types.ts';
import type { UploadWorkerDeps } from '../../../src/ingest/uploads/worker.ts';
import { createFiles } from '../../../src/kernel/files/backends.ts';
import type { Files } from '../../../src/kernel/files/types.ts';
import { Workbooks } from '../../../src/kernel/files/workbooks.ts';
import type { Kernel, KernelOptions } from '../../../src/kernel/jobs/kernel.ts';
import type { Pipeline } from '../../../src/kernel/jobs/types.ts';
import { WakeUp } from '../../../src/kernel/jobs/wake-up.ts';
import type { Database } from '../../../src/lib/postgres/db.ts';
import { newTenant, type TestDatabase } from './database.ts';
import { testKernel } from './kernel.ts';
import { type SliceHooks, sliceWatcher } from './watched-slices.ts';

export type RunHooks = SliceHooks;

export type RunOptions = Partial<KernelOptions> & {
  db?: Database;
  files?: Files;
  sliceMs?: number;
  linesPerBatch?: number;
  promotionBatchRows?: number;
  plausibilityChecks?: string;
  hooks?: RunHooks;
  /** What happens while an upload waits for the n-th time. */
  meanwhile?: (n: number) => Promise<void>;
  pipeline?: (real: Pipeline) => Pipeline;
};

export interface Run {
  kernel: Kernel;
  /** The delays that uploads of this kernel asked for; none is waited for. */
  delays: number[];
  /** Every stretch of the file that was opened: from which byte, and how many were read. */
  reads: { start: number; bytes: number }[];
  deps: UploadWorkerDeps;
}

export interface Place {
  tenantId: string;
  workspaceId: string;
}

export interface IntakeOptions {
  review?: boolean;
  forcePartial?: boolean;
  clientId?: string;
  platform?: string;
  filename?: string;
  dateFrom?: string;
  dateTo?: string;
  mapping?: Record<string, string | null>;
}

/** Uploads on real kernels whose steps a test can inspect, stop or take over. */
export function useUploadRuns(database: TestDatabase) {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'sluice-upload-runs-'));
  const files = createFiles({ filesBackend: 'local', dataDir });
  const kernels: Kernel[] = [];
  let intake: Kernel | undefined;
  beforeAll(async () => {
    intake = testKernel(database, { pipelines: [idle] });
    await intake.start({ work: false });
  });
  afterEach(async () => {
    await Promise.all(kernels.splice(0).map((kernel) => kernel.stop(1_000)));
  });
  afterAll(async () => {
    await intake?.stop(1_000);
    await rm(dataDir, { recursive: true, force: true });
  });

  return {
    files,
    /** A kernel that advances uploads; with `work` it claims them by itself, otherwise when it is driven. */
    async start(options: RunOptions & { work?: boolean } = {}): Promise<Run> {
      const run = openRun(database, files, options);
      kernels.push(run.kernel);
      await run.kernel.start({ work: options.work ?? false });
      return run;
    },
    place: () => newPlace(database),
    /** Takes a file in, as intake does. */
    take(place: Place, content: string | Buffer, options: IntakeOptions = {}): Promise<Upload> {
      if (!intake) throw new Error('The kernel is available only after beforeAll has run');
      return takeContent(intake, files, { place, content, options });
    },
    async upload({ uploadId }: { uploadId: string }): Promise<UploadRow> {
      const [row] = await database.owner<UploadRow>('select * from data_uploads where upload_id = $1', [
        uploadId,
      ]);
      if (!row) throw new Error(`There is no upload ${uploadId}`);
      return row;
    },
    events: ({ uploadId }: { uploadId: string }) =>
      database.owner<{ type: string; data: Record<string, unknown> }>(
        'select type, data from events where subject = $1 order by xid, event_id',
        [uploadId],
      ),
    /** Makes everything that waits due now. */
    bringForward: ({ jobId }: { jobId: string }) =>
      database.owner(
        `update ingestion_jobs
            set run_at = clock_timestamp(), next_retry_at = case when status = 'failed' then clock_timestamp() end
          where job_id = $1`,
        [jobId],
      ),
    /** Another worker has claimed and released the job: the previous holder is a zombie. */
    takeOver: ({ jobId }: { jobId: string }) =>
      database.owner(
        `update ingestion_jobs
            set lease_epoch = lease_epoch + 1, leased_by = null, lease_expires_at = null, run_at = clock_timestamp()
          where job_id = $1`,
        [jobId],
      ),
    count: async (table: string, { uploadId }: { uploadId: string }): Promise<number> => {
      const column = table.startsWith('staging') ? 'upload_id' : 'last_upload';
      const [row] = await database.owner<{ n: number }>(
        `select count(*)::integer as n from ${table} where ${column} = $1`,
        [uploadId],
      );
      return row?.n ?? 0;
    },
  };
}

export type UploadRow = Record<string, unknown> & { status: string; error_text: string | null };

const header =
  'Campaign name,Campaign ID,Ad set name,Ad set ID,Ad name,Ad ID,Day,Impressions,Link clicks,Amount spent (USD)';

export interface LineOptions {
  campaign?: number;
  spend?: string;
  day?: string;
  name?: string;
}

/** A line of a Meta report: its own ad, in the campaign and ad set of `campaign`. */
export function adLine(
  n: number,
  { campaign = 1, spend = '1.00', day = '2026-03-01', name }: LineOptions = {},
) {
  const id = (kind: number, number: number) => `1202${kind}${String(number).padStart(12, '0')}`;
  return (
    `${name ?? `Campaign ${campaign}`},${id(1, campaign)},Set ${campaign},${id(2, campaign)},` +
    `Ad ${n},${id(3, n)},${day},${n * 10},${n},${spend}`
  );
}

export function adReport(lines: string[]): string {
  return `${header}\n${lines.join('\n')}\n`;
}

/** Something that happens once, and that can be waited for. */
export function gate(): { opened: Promise<void>; open: () => void } {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

export function range(count: number): number[] {
  return Array.from({ length: count }, (_, at) => at + 1);
}

/** A machine that stalls for seconds must not end a slice where no test expects it. */
const unhurriedMs = 60_000;

const idle: Pipeline = {
  name: 'uploads',
  maxRetries: 5,
  advance: () => Promise.reject(new Error('The kernel of intake advances nothing')),
  onError: () => ({ type: 'continue' }),
};

async function newPlace(database: TestDatabase): Promise<Place> {
  const tenantId = await newTenant(database);
  const [row] = await database.owner<{ workspace_id: string }>(
    `insert into workspaces (tenant_id, workspace_id, name)
     values ($1, gen_random_uuid(), 'Main')
     returning workspace_id`,
    [tenantId],
  );
  return { tenantId, workspaceId: row?.workspace_id ?? '' };
}

const workbooks = new Workbooks({ perTenant: 4 });

async function takeContent(
  kernel: Kernel,
  files: Files,
  { place, content, options }: { place: Place; content: string | Buffer; options: IntakeOptions },
): Promise<Upload> {
  const { db, wake, metrics, registry, quotas } = kernel;
  const maxUploadBytes = 50 * 1024 * 1024;
  const stored = await files.store(Readable.from([Buffer.from(content)]), { maxBytes: maxUploadBytes });
  const fields = readIntakeFields({
    workspace_id: place.workspaceId,
    platform: options.platform ?? 'meta',
    source: 'manual',
    client_id: options.clientId,
    review: options.review ?? false,
    force_partial: options.forcePartial ?? false,
    date_from: options.dateFrom,
    date_to: options.dateTo,
    mapping: options.mapping ?? {},
  });
  return takeIn(
    {
      ...{ db, wake, metrics, registry, quotas, files, maxUploadBytes },
      maxUnfoldedBytes: 512 * 1024 * 1024,
      maxArchiveReports: 100,
      workbooks,
    },
    {
      tenantId: place.tenantId,
      userId: 'tester',
      createdBy: 'tester',
      fields,
      filename: options.filename ?? 'report.csv',
      stored,
    },
  );
}

function openRun(database: TestDatabase, files: Files, options: RunOptions): Run {
  const {
    db = database.db,
    sliceMs = unhurriedMs,
    linesPerBatch,
    promotionBatchRows = 1_000,
    plausibilityChecks = 'none',
    hooks = {},
    meanwhile,
    pipeline = (real) => real,
    ...rest
  } = options;
  const delays: number[] = [];
  const reads: Run['reads'] = [];
  const wake = new WakeUp(db);
  const deps: UploadWorkerDeps = {
    db,
    files: watchReads(options.files ?? files, reads),
    wake,
    logger: pino({ level: 'silent' }),
    metrics: new UploadMetrics(new Registry()),
    sliceMs,
    linesPerBatch,
    promotionBatchRows,
    plausibilityChecks,
    plausibilityHistoryDays: 90,
    wait: async (delayMs, signal) => {
      signal.throwIfAborted();
      delays.push(delayMs);
      await meanwhile?.(delays.length);
    },
  };
  const hooked = watchSteps(uploadsPipeline(deps), hooks);
  const kernel = testKernel(database, { leaseMs: 30_000, ...rest, db, wake, pipelines: [pipeline(hooked)] });
  return { kernel, delays, reads, deps };
}

function watchReads(files: Files, reads: Run['reads']): Files {
  return {
    ...files,
    async open(storageKey, stretch) {
      const content = await files.open(storageKey, stretch);
      const read = { start: stretch?.start ?? 0, bytes: 0 };
      reads.push(read);
      const counted = async function* () {
        for await (const chunk of content) {
          read.bytes += (chunk as Buffer).length;
          yield chunk;
        }
      };
      return Readable.from(counted());
    },
  };
}

function watchSteps(real: Pipeline, hooks: RunHooks): Pipeline {
  const watched = sliceWatcher(hooks);
  return { ...real, advance: (slice) => real.advance(watched(slice)) };
}
