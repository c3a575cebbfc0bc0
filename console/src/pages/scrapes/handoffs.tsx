import { api } from '../../api/client.ts';
import type { IngestionHandoff } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { Id } from '../../parts/command.tsx';
import { Empty } from '../../parts/empty.tsx';
import { FilterBar, FilterSelect } from '../../parts/filter-bar.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { KeysetTable } from '../../parts/keyset-table.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { count } from '../../parts/number.ts';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago } from '../../parts/time.tsx';
import { To } from '../../parts/to.tsx';
import { handoffStatuses, scrapeSearch } from './search.ts';

const rowKey = (handoff: IngestionHandoff) => handoff.handoff_id;
const labels: Record<(typeof handoffStatuses)[number], string> = {
  queued: 'Queued',
  running: 'Running',
  completed: 'Done',
  failed: 'Failed',
};

export function Handoffs({ source }: { source: string }) {
  const [{ status, run }, change] = useListState(scrapeSearch);
  const list = useKeysetList({
    queryKey: ['scrapes', 'handoffs', source, status ?? null, run ?? null],
    fetchPage: (cursor, signal) =>
      api.get('/api/scraping/{source}/handoffs', {
        path: { source },
        query: { status, scrape_run_id: run, cursor, limit: 100 },
        signal,
      }),
    rowKey,
  });
  const isFiltered = status !== undefined || run !== undefined;
  return (
    <>
      <FilterBar isFiltered={isFiltered} onReset={() => change({ status: undefined, run: undefined })}>
        <FilterSelect
          label="State"
          value={status}
          all="All states"
          options={handoffStatuses.map((value) => ({ value, label: labels[value] }))}
          onChange={(value) => change({ status: value })}
        />
        {run === undefined ? null : (
          <span className="dim">
            of the run <Id value={run} />
          </span>
        )}
      </FilterBar>
      <KeysetTable
        label="Hand-offs"
        columns={columns}
        rows={list.rows}
        rowKey={rowKey}
        empty={
          <Empty
            sentence={
              isFiltered
                ? 'No hand-off matches these filters.'
                : 'No hand-off yet. Every reference with new content makes one.'
            }
          />
        }
        list={list}
        noun="hand-offs"
      />
    </>
  );
}

const reasons: Record<IngestionHandoff['reason_code'], string> = {
  queued_from_scrape: 'Waits to be handed over',
  ingestion_job_queued: 'Its indexing is queued',
  ingestion_job_already_active: 'Waits: an earlier version is being indexed',
  ingestion_job_running: 'It is being indexed',
  ingestion_job_completed: 'Indexed',
  ingestion_job_failed: 'Indexing failed',
  unchanged_payload: 'Nothing had changed',
  retry_exhausted: 'Failed after its retries; the next sync tries again',
  not_transient: 'Refused for good; the next sync tries again',
};

const columns: Column<IngestionHandoff>[] = [
  {
    id: 'reference',
    header: 'Reference',
    width: 120,
    cell: ({ reference_id }) => <Id value={reference_id} />,
  },
  { id: 'status', header: 'State', width: 110, cell: ({ status }) => <StatusChip status={status} /> },
  {
    id: 'why',
    header: 'Why',
    width: 330,
    cell: ({ reason_code, reason_text }) => (
      <span className="cut" title={reason_text ?? ''}>
        {reasons[reason_code]}
        {reason_text === null ? null : `: ${reason_text}`}{' '}
        <span className="dim mono small">{reason_code}</span>
      </span>
    ),
  },
  { id: 'tries', header: 'Tries', width: 60, align: 'end', cell: ({ attempts }) => count(attempts) },
  { id: 'at', header: 'Changed', width: 110, cell: ({ updated_at }) => <Ago at={updated_at} /> },
  {
    id: 'job',
    header: 'Job',
    width: 120,
    cell: ({ job_id }) =>
      job_id === null ? <span className="dim">–</span> : <To href={`/jobs/${job_id}`}>open</To>,
  },
];
