import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { Sync } from '../../api/types.ts';
import { count, plural } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago } from '../../parts/time.tsx';
import { To } from '../../parts/to.tsx';

const active = new Set(['queued', 'running', 'paused', 'failed']);

/** The active sync; null while there is none. */
export function ActiveSync({ connectorId }: { connectorId: string }) {
  const latest = useQuery({
    queryKey: ['connectors', 'latest', connectorId],
    queryFn: ({ signal }) =>
      api.get('/api/syncs', { query: { connector_id: connectorId, limit: 1 }, signal }),
    // Airbyte's own count of records moves without an event of ours.
    refetchInterval: ({ state }) => (active.has(state.data?.data[0]?.status ?? '') ? 5_000 : false),
  }).data?.data[0];
  if (latest === undefined || !active.has(latest.status)) return null;
  return (
    <Panel title="Now" aside={<To href={`/jobs/${latest.job_id}`}>Open the job</To>}>
      <div className="stack">
        <span className="row">
          <StatusChip status={latest.status} of="sync" /> {sentenceOf(latest)}
        </span>
        <span className="dim">
          Requested <Ago at={latest.created_at} />
          {latest.next_retry_at === null ? null : (
            <>
              ; next try <Ago at={latest.next_retry_at} /> (retry {latest.retry_count} of {latest.max_retries}
              )
            </>
          )}
          {latest.records_synced === null ? null : <>; {count(latest.records_synced)} records so far</>}
        </span>
      </div>
    </Panel>
  );
}

const waits: Record<string, string> = {
  airbyte_not_configured: 'It waits until Airbyte is configured.',
  airbyte_unavailable: 'It waits until Airbyte responds again. No attempt is used.',
  lost_trigger:
    'It looks for the run of a trigger whose response was unclear, before it sends another. No attempt is used.',
  airbyte_wrong_address: 'It waits until AIRBYTE_BASE_URL leads to the API of Airbyte. No attempt is used.',
  canceling: 'It waits until Airbyte has stopped the run.',
};

function sentenceOf(sync: Sync): string {
  if (sync.status === 'failed') return sync.error_message ?? 'The last try failed.';
  if (sync.blocked_by !== null) {
    return `It waits for the ${sync.blocked_by.job_type} that runs on the connection at Airbyte. No attempt is used.`;
  }
  if (sync.waiting_for !== null) return waits[sync.waiting_for] ?? `It waits: ${sync.waiting_for}.`;
  if (sync.status === 'queued') return 'It waits for its turn.';
  if (sync.status === 'paused') return 'Somebody paused it.';
  if (sync.run_id === null) return 'It is being started at Airbyte.';
  const run = sync.adopted ? 'It follows a run that somebody else started' : 'Airbyte runs it';
  return sync.retry_count > 0
    ? `${run}, after ${plural(sync.retry_count, 'failed try', 'failed tries')}.`
    : `${run}.`;
}
