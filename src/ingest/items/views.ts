import { z } from 'zod';
import { timestamp } from '../../kernel/http/replies.ts';
import type { Job } from '../../kernel/jobs/types.ts';
import { jobReply, renderJob } from '../../kernel/jobs/views.ts';
import type { PendingRow } from './grid/store.ts';
import { type InputSummary, inputSummary } from './grid/summary.ts';
import type { ControllerView } from './processing/pacing.ts';
import { type ItemJob, itemStatuses, type RowsFile } from './types.ts';

const controllerReply = z.looseObject({ reason: z.string() });

export const noteReply = z
  .object({
    code: z.string(),
    message: z.string(),
    count: z.int(),
    places: z.array(z.object({ line: z.int().nullable(), row: z.int().nullable(), what: z.string() })),
  })
  .meta({ id: 'RowNote' });

/** What an items job shows in addition to what every job shows. */
const itemFields = {
  jobType: z.enum(['csv', 'image']),
  processor: z.string(),
  fileName: z.string().nullable(),
  fileId: z
    .uuid()
    .nullable()
    .describe('The record of the file of rows; null for images, which have one each'),
  file: z
    .object({ mediaType: z.string(), sizeBytes: z.int(), sha256: z.string() })
    .optional()
    .describe('What the file of rows was; its bytes are not kept'),
  columns: z.array(z.string()).describe('The columns of the file'),
  resultColumns: z
    .array(z.string())
    .describe('Keys of the results so far; they are columns of the grid and of exports'),
  totalItems: z.int(),
  processedItems: z.int(),
  failedItems: z.int(),
  counts: z.object({
    PENDING: z.int(),
    PROCESSING: z.int(),
    DONE: z.int(),
    ERROR: z.int(),
    NOT_FOUND: z.int(),
    SKIPPED: z.int(),
  }),
  notes: z
    .array(noteReply)
    .describe('What was repaired while the file was read, with the first places of each'),
  mapping: z
    .record(z.string(), z.string().nullable())
    .nullable()
    .describe('File column → column of the job, or null if it was left out'),
  controllers: z
    .looseObject({
      ingest: controllerReply.optional(),
      claim: controllerReply.optional(),
      providers: z.array(controllerReply).optional(),
    })
    .describe('What the controllers decided last, and why'),
};

export const itemJobReply = jobReply.extend(itemFields).meta({ id: 'ItemJob' });

export function renderItemJob(job: Job, items: ItemJob): z.output<typeof itemJobReply> {
  return { ...renderJob(job, itemJobName(items)), ...renderItems(items) };
}

/** Files give jobs their names; rows that came without a file have the name of their processor. */
export function itemJobName({ fileName, processor }: Pick<ItemJob, 'fileName' | 'processor'>): string {
  return fileName || processor;
}

/** `live`: the controllers of this process, whose state is newer than what was saved. */
export function renderItems(items: ItemJob, live: ControllerView | null = null, file?: RowsFile) {
  const { jobType, processor, fileName, fileId, columns, resultColumns, counts } = items;
  return {
    ...{ jobType, processor, fileName, fileId, columns, resultColumns },
    ...(file && { file: { mediaType: file.mediaType, sizeBytes: file.sizeBytes, sha256: file.sha256 } }),
    totalItems: counts.total,
    processedItems: counts.done + counts.error + counts.notFound + counts.skipped,
    failedItems: counts.error + counts.notFound,
    counts: {
      PENDING: counts.pending,
      PROCESSING: counts.processing,
      DONE: counts.done,
      ERROR: counts.error,
      NOT_FOUND: counts.notFound,
      SKIPPED: counts.skipped,
    },
    notes: items.notes.map((note) => ({ ...note })),
    mapping: items.mapping,
    controllers: { ...items.controllers, ...live },
  };
}

export const pendingReply = z.object({
  id: z.string(),
  jobId: z.uuid(),
  userId: z.string(),
  jobType: z.string(),
  status: z.enum(itemStatuses),
  attempts: z.int(),
  lockedBy: z.string().nullable(),
  lockedAt: timestamp.nullable(),
  updatedAt: z.string(),
  inputSummary: z.object({
    title: z.string().nullable(),
    brand: z.string().nullable(),
    sku: z.string().nullable(),
    first: z.array(z.object({ name: z.string(), value: z.string() })),
  }),
  progress: z.object({ processed: z.int(), total: z.int() }),
});

export function renderPending(row: PendingRow): z.output<typeof pendingReply> {
  const { id, lockedAt, inputHead, processed, total, ...shown } = row;
  return {
    ...shown,
    id: String(id),
    lockedAt: lockedAt?.toISOString() ?? null,
    inputSummary: summaryOf(inputHead),
    progress: { processed, total },
  };
}

/** The head of a large row may be cut anywhere. Then there is no summary, so that the whole row need not be read. */
function summaryOf(inputHead: string): InputSummary {
  try {
    return inputSummary(inputHead);
  } catch {
    return { title: null, brand: null, sku: null, first: [] };
  }
}
