import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { Sync } from '../../api/types.ts';
import { count, plural } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago } from '../../parts/time.tsx';
import { To } from '../../parts/to.tsx';
import { waitSentence } from './waits.ts';

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

function sentenceOf(sync: Sync): string {
  if (sync.status === 'failed') return sync.error_message ?? 'The last try failed.';
  const wait = waitSentence(sync);
  if (wait !== null) return wait;
  if (sync.status === 'queued') return 'It waits for its turn.';
  if (sync.status === 'paused') return 'Somebody paused it.';
  if (sync.run_id === null) return 'It is being started at Airbyte.';
  const run = sync.adopted ? 'It follows a run that somebody else started' : 'Airbyte runs it';
  return sync.retry_count > 0
    ? `${run}, after ${plural(sync.retry_count, 'failed try', 'failed tries')}.`
    : `${run}.`;
}
