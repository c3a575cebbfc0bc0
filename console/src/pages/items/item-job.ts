import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { Job } from '../../api/types.ts';
import type { CountPart } from '../../parts/count-parts.ts';
import { statusLook } from '../../parts/status.ts';
import type { RowNote } from './file-preview.ts';
import { type ItemStatus, itemStatuses } from './item-status.ts';

interface Controller {
  reason: string;
  [name: string]: unknown;
}

export interface Controllers {
  ingest?: Controller;
  claim?: Controller;
  providers?: Controller[];
}

/** A job of rows: what /api/jobs shows of it beside what every job has. */
export interface ItemJob extends Job {
  jobType: 'csv' | 'image';
  processor: string;
  fileName: string | null;
  columns: string[];
  resultColumns: string[];
  totalItems: number;
  processedItems: number;
  failedItems: number;
  counts: Record<ItemStatus, number>;
  controllers: Controllers;
  /** Absent in answers of older servers. */
  notes?: RowNote[];
}

/** Null for a job of another pipeline, or one whose rows are gone. */
export function asItemJob(job: Job): ItemJob | null {
  return job.pipeline === 'items' && typeof job.counts === 'object' && job.counts !== null
    ? (job as ItemJob)
    : null;
}

export function itemJobName({ fileName, jobId }: Pick<ItemJob, 'fileName' | 'jobId'>): string {
  return fileName === null || fileName === '' ? `Rows ${jobId.slice(-8)}` : fileName;
}

/** The state of the job; an ended one is done, partly done or failed, by what became of its rows. */
export function outcomeOf({ status, totalItems, failedItems, counts }: ItemJob): string {
  if (status !== 'success' || failedItems === 0) return status;
  return failedItems < totalItems || counts.DONE > 0 ? 'partial' : 'failed';
}

/** The rows of a dead letter stay unchanged. */
export function canRestart({ status }: Pick<ItemJob, 'status'>): boolean {
  return status !== 'canceled' && status !== 'dead_letter';
}

/** One response is one moment: the parts add up to the total. */
export function itemParts(counts: Record<ItemStatus, number>): (CountPart & { status: ItemStatus })[] {
  return itemStatuses.map((status) => {
    const { word, tone } = statusLook(status);
    return { status, label: status === 'ERROR' ? 'errors' : word, value: counts[status], tone };
  });
}

export function countOf(counts: Record<ItemStatus, number>, statuses: readonly ItemStatus[]): number {
  return statuses.reduce((sum, status) => sum + counts[status], 0);
}

export function useItemJob(jobId: string) {
  return useQuery({
    queryKey: ['items', 'job', jobId],
    queryFn: ({ signal }) => api.get('/api/jobs/{job_id}', { path: { job_id: jobId }, signal }),
    // Between events a running job still counts up.
    refetchInterval: ({ state }) =>
      state.data?.status === 'running' || state.data?.cleanupOpen === true ? 1_500 : false,
  });
}
