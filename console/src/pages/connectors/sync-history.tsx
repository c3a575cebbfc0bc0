import { useMemo } from 'react';
import { api } from '../../api/client.ts';
import type { Sync } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { Empty } from '../../parts/empty.tsx';
import { FilterBar, FilterSelect } from '../../parts/filter-bar.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { KeysetTable } from '../../parts/keyset-table.tsx';
import { LineChart } from '../../parts/line-chart.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { bytes, count } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago, Duration } from '../../parts/time.tsx';
import { connectorSearch, syncStatuses } from './search.ts';
import { SyncTimeline, totalMs } from './sync-timeline.tsx';

const rowKey = (sync: Sync) => sync.job_id;
const hrefOf = (sync: Sync) => `/jobs/${sync.job_id}`;
const words: Record<(typeof syncStatuses)[number], string> = {
  success: 'Done',
  failed: 'Waiting for retry',
  dead_letter: 'Dead letters',
  running: 'Running',
  queued: 'Queued',
  paused: 'Paused',
  canceled: 'Canceled',
};

export function SyncHistory({ connectorId }: { connectorId: string }) {
  const [{ status }, change] = useListState(connectorSearch);
  const list = useKeysetList({
    queryKey: ['connectors', 'syncs', connectorId, status ?? null],
    fetchPage: (cursor, signal) =>
      api.get('/api/syncs', { query: { connector_id: connectorId, status, cursor, limit: 50 }, signal }),
    rowKey,
  });
  return (
    <Panel title="Syncs">
      <Durations syncs={list.rows} />
      <FilterBar isFiltered={status !== undefined} onReset={() => change({ status: undefined })}>
        <FilterSelect
          label="State"
          value={status}
          all="All states"
          options={syncStatuses.map((value) => ({ value, label: words[value] }))}
          onChange={(value) => change({ status: value })}
        />
      </FilterBar>
      <KeysetTable
        label="Syncs"
        columns={columnsFor(list.rows)}
        rows={list.rows}
        rowKey={rowKey}
        href={hrefOf}
        empty={
          <Empty
            sentence={
              status === undefined
                ? 'No sync yet. The first one starts on schedule, or now with “Sync now”.'
                : 'No sync is in this state.'
            }
          />
        }
        list={list}
        noun="syncs"
      />
    </Panel>
  );
}

function columnsFor(rows: readonly Sync[]): Column<Sync>[] {
  const longestMs = Math.max(...rows.map(totalMs), 1);
  const timeline: Column<Sync> = {
    id: 'timeline',
    header: 'Queued, starting, running',
    width: 180,
    cell: (sync) => <SyncTimeline sync={sync} longestMs={longestMs} />,
  };
  return [...columns.slice(0, 2), timeline, ...columns.slice(2)];
}

const columns: Column<Sync>[] = [
  { id: 'asked', header: 'Requested', width: 120, cell: (sync) => <Ago at={sync.created_at} /> },
  {
    id: 'status',
    header: 'State',
    width: 160,
    cell: (sync) => <StatusChip status={sync.status} of="sync" />,
  },
  {
    id: 'took',
    header: 'Took',
    width: 90,
    align: 'end',
    cell: ({ duration_seconds }) =>
      duration_seconds === null ? <span className="dim">–</span> : <Duration ms={duration_seconds * 1000} />,
  },
  {
    id: 'records',
    header: 'Records',
    width: 100,
    align: 'end',
    cell: ({ records_synced }) => (records_synced === null ? '–' : count(records_synced)),
  },
  {
    id: 'bytes',
    header: 'Size',
    width: 90,
    align: 'end',
    cell: ({ bytes_synced }) => (bytes_synced === null ? '–' : bytes(bytes_synced)),
  },
  {
    id: 'retries',
    header: 'Retries',
    width: 80,
    align: 'end',
    cell: ({ retry_count }) => count(retry_count),
  },
  {
    id: 'why',
    header: 'What happened',
    cell: ({ error_message, error_code, result_code }) =>
      error_message === null ? (
        <span className="dim">{emptyWords[result_code ?? ''] ?? null}</span>
      ) : (
        <span className="cut" title={error_message}>
          {error_message} <span className="dim mono small">{error_code}</span>
        </span>
      ),
  },
];

const emptyWords: Record<string, string> = {
  no_records: 'Succeeded, but no record was moved',
  no_statistics: 'Succeeded, but Airbyte gave no statistics',
  skipped_active: 'Skipped: another sync was running',
};

/** A line needs at least three points to be useful. */
function Durations({ syncs }: { syncs: readonly Sync[] }) {
  const points = useMemo(
    () =>
      syncs
        .flatMap(({ duration_seconds, finished_at }) =>
          duration_seconds === null || finished_at === null
            ? []
            : [{ at: new Date(finished_at).getTime(), value: duration_seconds }],
        )
        .reverse(),
    [syncs],
  );
  if (points.length < 3) return null;
  return (
    <LineChart
      label="How long syncs took"
      unit="seconds"
      series={[{ label: 'took', points, tone: 'running' }]}
      height={110}
    />
  );
}
