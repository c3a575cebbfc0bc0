import { ApiProblem, api } from '../../api/client.ts';
import type { Job } from '../../api/types.ts';
import { plural } from '../../parts/number.ts';

export const controls = ['pause', 'resume', 'cancel'] as const;
export type Control = (typeof controls)[number];

const legalFrom: Record<Control, readonly Job['status'][]> = {
  pause: ['queued', 'running', 'failed'],
  resume: ['paused'],
  cancel: ['queued', 'running', 'paused', 'failed'],
};

const past: Record<Control, string> = { pause: 'Paused', resume: 'Resumed', cancel: 'Canceled' };

/** Whether the job's state allows it; the server decides again. */
export function isLegal(control: Control, status: Job['status']): boolean {
  return legalFrom[control].includes(status);
}

export function controlJob(control: Control, jobId: string): Promise<Job> {
  const options = { path: { job_id: jobId } };
  if (control === 'pause') return api.post('/api/jobs/{job_id}/pause', options);
  if (control === 'resume') return api.post('/api/jobs/{job_id}/resume', options);
  return api.post('/api/jobs/{job_id}/cancel', options);
}

export interface BulkResult {
  done: number;
  /** Why some could not, by reason. */
  refused: Map<string, number>;
}

/** The API has no call for many jobs, so each gets its own request, a few at a time. */
const atATime = 4;

export async function forEachJob(
  jobIds: readonly string[],
  act: (jobId: string) => Promise<unknown>,
): Promise<BulkResult> {
  const waiting = [...jobIds];
  const result: BulkResult = { done: 0, refused: new Map() };
  const work = async () => {
    for (let jobId = waiting.shift(); jobId !== undefined; jobId = waiting.shift()) {
      try {
        await act(jobId);
        result.done += 1;
      } catch (error) {
        const reason = error instanceof ApiProblem ? error.title : String(error);
        result.refused.set(reason, (result.refused.get(reason) ?? 0) + 1);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atATime, jobIds.length) }, work));
  return result;
}

/** "Paused 3 jobs. 1 could not be: The job cannot do that in its present state (1)." */
export function bulkSentence(verb: string, { done, refused }: BulkResult): string {
  const reasons = [...refused].map(([reason, times]) => `${reason} (${times})`);
  const left = [...refused.values()].reduce((sum, times) => sum + times, 0);
  const main = `${verb} ${plural(done, 'job')}.`;
  return left === 0 ? main : `${main} ${left} could not be: ${reasons.join('; ')}.`;
}

export function controlVerb(control: Control): string {
  return past[control];
}
