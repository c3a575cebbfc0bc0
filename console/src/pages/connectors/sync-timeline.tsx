import type { Sync } from '../../api/types.ts';
import { durationText } from '../../parts/moments.ts';

interface Phase {
  name: 'queued' | 'starting' | 'running';
  words: string;
  ms: number;
}

/** How long the sync was queued, being started and running, drawn to the scale of the longest one shown. */
export function SyncTimeline({ sync, longestMs }: { sync: Sync; longestMs: number }) {
  const phases = phasesOf(sync);
  const words = phases.map((phase) => `${phase.words} ${durationText(phase.ms)}`).join(', ');
  return (
    <span className="timeline" role="img" aria-label={words} title={words}>
      {phases.map(({ name, ms }) => (
        <span key={name} data-phase={name} style={{ width: `${(ms / Math.max(1, longestMs)) * 100}%` }} />
      ))}
    </span>
  );
}

export function totalMs(sync: Sync): number {
  return phasesOf(sync).reduce((sum, { ms }) => sum + ms, 0);
}

function phasesOf(sync: Sync): Phase[] {
  const created = Date.parse(sync.created_at);
  const ended = sync.finished_at === null ? Date.now() : Date.parse(sync.finished_at);
  const started = sync.started_at === null ? ended : Date.parse(sync.started_at);
  const run = sync.run_started_at === null ? ended : Date.parse(sync.run_started_at);
  // Airbyte's clock has whole seconds and may differ from ours.
  const runStart = Math.min(Math.max(run, started), ended);
  const phases: Phase[] = [
    { name: 'queued', words: 'queued', ms: started - created },
    { name: 'starting', words: 'waiting and starting', ms: runStart - started },
    { name: 'running', words: 'running at Airbyte', ms: ended - runStart },
  ];
  return phases.filter(({ ms }) => ms > 0);
}
