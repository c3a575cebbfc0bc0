import type { Client } from '../../../cli/client/client.ts';
import { follow } from '../../../cli/client/follow.ts';
import { shortText } from '../../../cli/terminal/cells.ts';
import { type ExitCode, exitCodes } from '../../../cli/terminal/exit.ts';
import { note } from '../../../cli/terminal/output.ts';
import type { renderDocument, renderRun } from '../views.ts';

/** A run as the API shows it. */
export type RunView = ReturnType<typeof renderRun>;
type DocumentView = ReturnType<typeof renderDocument>;

const stageWords: Record<string, string | undefined> = {
  load: 'reading and embedding documents',
  sweep: 'putting the result in place',
};

/** Follows a run until it has ended or rests. */
export function followRun(
  client: Client,
  { jobId, label, signal }: { jobId: string; label: string; signal: AbortSignal },
): Promise<RunView> {
  return follow(() => client.get<RunView>(`/api/ingestion/jobs/${jobId}/status`, { signal }), {
    signal,
    stageOf: ({ status, stage, docs_expected: expected, counters: { docs_seen: done } }) => {
      if (status !== 'running') return null;
      const words =
        stage === null
          ? {}
          : { words: `${shortText(label, 80)}: ${stageWords[stage] ?? shortText(stage, 80)}` };
      // What the sources are known to have can be less than what they turn out to have.
      return { ...words, done, total: expected > done ? expected : null };
    },
  });
}

export function exitCodeOfRun({ status, counters, incomplete_sources: incomplete }: RunView): ExitCode {
  if (status !== 'completed') return exitCodes.failed;
  const isWhole = counters.docs_error + counters.chunks_error === 0 && incomplete.length === 0;
  return isWhole ? exitCodes.ok : exitCodes.someRowsFailed;
}

const documentsShown = 10;

/** What a person has to know beyond the figures: why, and what can be done. */
export async function explainRun(
  client: Client,
  run: RunView,
  { route, signal }: { route: string; signal: AbortSignal },
): Promise<void> {
  if (run.last_error !== null) note(`The run is ${run.status}: ${shortText(run.last_error, 600)}`);
  if (run.status === 'paused') note(`POST /api/ingestion/jobs/${run.job_id}/resume lets it go on.`);
  for (const { reason } of run.incomplete_sources) note(`Not everything was read: ${shortText(reason, 300)}`);
  if (run.counters.docs_error === 0) return;
  const { data, has_more: hasMore } = await client.get<{ data: DocumentView[]; has_more: boolean }>(
    `${route}/documents`,
    { query: { state: 'error', limit: documentsShown }, signal },
  );
  for (const { uri, error_text: reason } of data) note(`${shortText(uri, 200)}: ${shortText(reason, 300)}`);
  if (hasMore) note(`GET ${route}/documents?state=error lists them all.`);
}
