import type { Client } from '../../client/client.ts';
import { ProgressLine } from '../../terminal/progress.ts';

/** What a kickoff did, as the API reports it. */
export interface KickoffView {
  processed: number;
  remaining: number | null;
  elapsedMs: number;
  queueState: 'QUEUED' | 'RUNNING' | 'PAUSED' | 'DONE' | 'FAILED';
  leasedBy: string | null;
}

/** Short, so that progress shows and Ctrl+C does not leave a long request behind. */
const stepMs = 2_000;
const graceMs = 30_000;

/** Drives a job in steps until it has nothing more to do at once, or the time is up. */
export async function driveJob(
  client: Client,
  { jobId, durationMs, isSilent }: { jobId: string; durationMs: number; isSilent: boolean },
): Promise<KickoffView> {
  const startedAtMs = performance.now();
  const progress = new ProgressLine({ isSilent });
  const leftMs = () => Math.ceil(durationMs - (performance.now() - startedAtMs));
  const step = (ms: number) =>
    client.post<KickoffView>(`/api/jobs/${jobId}/kickoff`, {
      query: { durationMs: Math.max(1, Math.min(stepMs, ms)) },
      timeoutMs: stepMs + graceMs,
    });
  try {
    let report = await step(durationMs);
    let processed = report.processed;
    // Slices and what remains are counted in different units, so progress shows only what remains.
    const atFirst = report.remaining;
    while (report.processed > 0 && isOpen(report) && leftMs() > 0) {
      progress.update(progressOf({ atFirst, remaining: report.remaining, processed }));
      report = await step(leftMs());
      processed += report.processed;
    }
    return { ...report, processed, elapsedMs: Math.round(performance.now() - startedAtMs) };
  } finally {
    progress.end();
  }
}

function isOpen({ queueState }: KickoffView): boolean {
  return queueState === 'QUEUED' || queueState === 'RUNNING';
}

function progressOf(state: { atFirst: number | null; remaining: number | null; processed: number }) {
  const { atFirst, remaining, processed } = state;
  if (atFirst === null || remaining === null) return { done: processed, total: null };
  return { done: Math.max(0, atFirst - remaining), total: atFirst };
}
