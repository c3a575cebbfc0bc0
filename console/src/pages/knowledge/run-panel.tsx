import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { KnowledgeRun } from '../../api/types.ts';
import { useAction } from '../../parts/action.ts';
import { confirm } from '../../parts/confirm.tsx';
import { durationText } from '../../parts/moments.ts';
import { count, plural } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { ProgressBar } from '../../parts/progress.tsx';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago, Duration } from '../../parts/time.tsx';
import { To } from '../../parts/to.tsx';
import { PlanPreview } from './plan-preview.tsx';

/** The active or last run: what it did, how fast, what failed; and the actions. */
export function RunPanel({ kbId }: { kbId: string }) {
  const {
    data: run,
    error,
    refetch,
  } = useQuery({
    queryKey: ['knowledge', 'run', kbId],
    queryFn: ({ signal }) => api.get('/api/ingestion/jobs/{id}/status', { path: { id: kbId }, signal }),
    // Rates move without events.
    refetchInterval: ({ state }) => (state.data?.status === 'running' ? 2_000 : false),
  });
  return (
    <Panel
      title="Run"
      aside={run?.job_id == null ? undefined : <To href={`/jobs/${run.job_id}`}>Open job</To>}
    >
      {error === null ? null : (
        <Problem error={error} retry={() => void refetch()} isStale={run !== undefined} />
      )}
      {run === undefined ? null : (
        <div className="stack">
          <RunState run={run} />
          {run.job_id === null ? null : <Counted run={run} />}
          <Controls kbId={kbId} run={run} />
        </div>
      )}
    </Panel>
  );
}

function RunState({ run }: { run: KnowledgeRun }) {
  return (
    <>
      <span className="row">
        <StatusChip status={run.status} />
        {run.status === 'running' ? (
          <>
            for <Duration from={run.started_at} />
          </>
        ) : (
          <Ago at={run.finished_at} empty="" />
        )}
      </span>
      {run.status === 'running' && run.docs_expected > 0 ? (
        <ProgressBar
          done={run.counters.docs_seen}
          total={run.docs_expected}
          label={`${count(run.counters.docs_seen)} of ${count(run.docs_expected)} documents`}
          isMoving
        />
      ) : null}
      {run.status === 'running' ? <Pace run={run} /> : null}
      {run.stalled ? (
        <p role="alert">It has not reported for half a minute. Another worker takes it over by itself.</p>
      ) : null}
      {run.waiting_until === null ? null : (
        <p>
          {run.waiting_reason === null ? 'It waits for its next try' : 'It waits for its embedder'} until{' '}
          <span className="num">{new Date(run.waiting_until).toLocaleTimeString()}</span>.{' '}
          {run.waiting_reason}
        </p>
      )}
      {run.last_error === null ? null : (
        <p>
          {run.last_error} <span className="dim mono small">{run.error_code}</span>
        </p>
      )}
      {run.incomplete_sources.map(({ source_id, reason }) => (
        <p key={source_id} className="small">
          A source could not show everything: {reason} Nothing was removed from the index.
        </p>
      ))}
    </>
  );
}

function Pace({ run }: { run: KnowledgeRun }) {
  const words = [
    `${run.docs_per_second.toFixed(1)} documents/s`,
    `${run.chunks_per_second.toFixed(1)} passages/s`,
    run.eta_seconds === null ? null : `about ${durationText(run.eta_seconds * 1000)} left`,
  ];
  return <p className="num small">{words.filter((word) => word !== null).join(' · ')}</p>;
}

function Counted({ run: { counters } }: { run: KnowledgeRun }) {
  return (
    <dl className="facts small">
      <dt>Documents seen</dt>
      <dd>
        {count(counters.docs_seen)} ({count(counters.docs_unchanged)} unchanged, {count(counters.docs_empty)}{' '}
        empty, {count(counters.docs_error)} with an error)
      </dd>
      {counters.docs_gone > 0 ? (
        <>
          <dt>Gone</dt>
          <dd className="num">{count(counters.docs_gone)}</dd>
        </>
      ) : null}
      <dt>Passages</dt>
      <dd>
        {count(counters.chunks_seen)} = {count(counters.chunks_processed)} embedded +{' '}
        {count(counters.chunks_skipped)} known + {count(counters.chunks_error)} failed
      </dd>
      <dt>Tokens embedded</dt>
      <dd className="num">{count(counters.tokens_embedded)}</dd>
    </dl>
  );
}

function Controls({ kbId, run }: { kbId: string; run: KnowledgeRun }) {
  const mayRun = useCan('knowledge.ingest');
  const start = useRunAction('start', kbId, 'The run has started.');
  const pause = useRunAction('pause', kbId, 'Paused. Passages in flight are still stored.');
  const resume = useRunAction('resume', kbId, 'It continues where it stopped.');
  const cancel = useRunAction('cancel', kbId, 'Canceled. What this run added is removed.');
  if (!mayRun) return <p className="dim small">Only admins of the tenant can start and stop runs.</p>;
  const ask = async () => {
    const added = plural(run.counters.chunks_processed, 'passage');
    const consequence = `The ${added} that this run has added so far are removed; everything older stays.`;
    if (await confirm({ title: 'Cancel the run?', consequence, action: 'Cancel run', isDanger: true }))
      cancel.run();
  };
  const isActive = run.status === 'running' || run.status === 'paused';
  if (!isActive) {
    return (
      <>
        <Button onClick={() => start.run()} loading={start.isRunning}>
          {run.job_id === null ? 'Start the first run' : 'Run again'}
        </Button>
        <PlanPreview kbId={kbId} />
      </>
    );
  }
  return (
    <div className="row">
      {run.status === 'running' ? (
        <Button variant="default" onClick={() => pause.run()} loading={pause.isRunning}>
          Pause
        </Button>
      ) : (
        <Button onClick={() => resume.run()} loading={resume.isRunning}>
          Resume
        </Button>
      )}
      <Button variant="default" color="red" onClick={() => void ask()} loading={cancel.isRunning}>
        Cancel
      </Button>
    </div>
  );
}

function useRunAction(verb: 'start' | 'pause' | 'resume' | 'cancel', kbId: string, sentence: string) {
  return useAction({
    run: async () => {
      await api.post(`/api/ingestion/jobs/{id}/${verb}`, { path: { id: kbId } });
    },
    done: () => sentence,
    touches: ['knowledge', 'jobs'],
  });
}
