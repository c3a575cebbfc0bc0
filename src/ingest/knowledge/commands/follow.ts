import type { Client } from '../../../cli/client/client.ts';
import { defaultMaxOutageMs, Outage } from '../../../cli/client/event-stream.ts';
import { shortText } from '../../../cli/terminal/cells.ts';
import { CommandFailure, type ExitCode, exitCodes } from '../../../cli/terminal/exit.ts';
import { note } from '../../../cli/terminal/output.ts';
import { ProgressLine } from '../../../cli/terminal/progress.ts';
import { pause } from '../../../lib/timing/abort.ts';
import type { renderDocument, renderRun } from '../views.ts';

/** A run as the API shows it. */
export type RunView = ReturnType<typeof renderRun>;
type DocumentView = ReturnType<typeof renderDocument>;

const pollMs = 400;

const stageWords: Record<string, string | undefined> = {
  load: 'reading and embedding documents',
  sweep: 'putting the result in place',
};

/** Follows a run until it has ended or rests. A server that goes away in between is waited for. */
export async function followRun(
  client: Client,
  { jobId, label, signal }: { jobId: string; label: string; signal: AbortSignal },
): Promise<RunView> {
  let progress = new ProgressLine();
  let word = '';
  const say = (text: string): void => {
    progress.end();
    note(text);
  };
  const outage = new Outage(defaultMaxOutageMs, say);
  try {
    for (;;) {
      const run = await look(client, { jobId, signal, outage });
      if (run !== null) {
        if (run.status !== 'running') return run;
        if (run.stage !== null && run.stage !== word) {
          word = run.stage;
          say(`${shortText(label, 80)}: ${stageWords[word] ?? shortText(word, 80)}`);
          progress = new ProgressLine();
        }
        progress.update({ done: run.counters.docs_seen, total: totalOf(run) });
      }
      await pause(run === null ? outage.nextPauseMs() : pollMs, signal);
      signal.throwIfAborted();
    }
  } finally {
    progress.end();
  }
}

/** What the sources are known to have can be less than what they turn out to have. */
function totalOf({ docs_expected: expected, counters }: RunView): number | null {
  return expected > counters.docs_seen ? expected : null;
}

/** Null: the server is away, and is expected back. */
async function look(
  client: Client,
  { jobId, signal, outage }: { jobId: string; signal: AbortSignal; outage: Outage },
): Promise<RunView | null> {
  try {
    const run = await client.get<RunView>(`/api/ingestion/jobs/${jobId}/status`, { signal });
    outage.end();
    return run;
  } catch (error) {
    if (signal.aborted || !(error instanceof CommandFailure) || !error.isPassing) throw error;
    outage.note(error);
    return null;
  }
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
