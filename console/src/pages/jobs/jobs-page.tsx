import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { Job } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { Empty } from '../../parts/empty.tsx';
import { FilterBar, FilterSelect, FilterText } from '../../parts/filter-bar.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import { count } from '../../parts/number.ts';
import { pipelineLook, pipelines } from '../../parts/pipelines.ts';
import { statusLook } from '../../parts/status.ts';
import { StatusChip } from '../../parts/status-chip.tsx';
import { RequeueAll } from '../dead-letters/requeue-bar.tsx';
import { jobColumns } from './job-columns.tsx';
import { JobsSelectBar } from './jobs-select-bar.tsx';
import { type JobStatus, jobStatuses, jobsSearch } from './search.ts';

const jobKey = ({ jobId }: Job) => jobId;
const statusOptions = jobStatuses.map((value) => ({ value, label: statusLook(value, 'job').word }));
const pipelineOptions = pipelines.map((value) => ({ value, label: pipelineLook(value).label }));

/** The jobs of all pipelines, newest first. */
export default function JobsPage() {
  const [{ status, pipeline, subject }, change] = useListState(jobsSearch);
  const filters = { status, pipeline, subjectId: subject };
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const canControl = useCan('job.control');
  const list = useKeysetList<Job>({
    queryKey: ['jobs', 'list', filters],
    fetchPage: (cursor, signal) => api.get('/api/jobs', { query: { ...filters, cursor, limit: 50 }, signal }),
    rowKey: jobKey,
  });
  const isFiltered = status !== undefined || pipeline !== undefined || subject !== undefined;
  const setFilter = (changes: Parameters<typeof change>[0]) => {
    setChosen(new Set());
    change(changes);
  };
  return (
    <ListPage
      title="Jobs"
      filters={
        <FilterBar
          isFiltered={isFiltered}
          onReset={() => setFilter({ status: undefined, pipeline: undefined, subject: undefined })}
          aside={<Matching filters={filters} list={list} />}
        >
          <FilterSelect
            label="State"
            all="All states"
            value={status}
            options={statusOptions}
            onChange={(value: JobStatus | undefined) => setFilter({ status: value })}
          />
          <FilterSelect
            label="Pipeline"
            all="All pipelines"
            value={pipelines.find((name) => name === pipeline)}
            options={pipelineOptions}
            onChange={(value) => setFilter({ pipeline: value })}
          />
          <FilterText
            label="Subject id"
            value={subject}
            onChange={(value) => setFilter({ subject: value })}
          />
        </FilterBar>
      }
      label="Jobs"
      columns={jobColumns}
      rows={list.rows}
      rowKey={jobKey}
      href={({ jobId }) => `/jobs/${jobId}`}
      selection={canControl ? { keys: chosen, change: setChosen } : undefined}
      empty={<NoJobs isFiltered={isFiltered} />}
      list={list}
      noun="jobs"
    >
      <JobsSelectBar jobs={list.rows} chosen={chosen} onClear={() => setChosen(new Set())} />
    </ListPage>
  );
}

interface JobFilters {
  status: JobStatus | undefined;
  pipeline: string | undefined;
  subjectId: string | undefined;
}

interface MatchingProps {
  filters: JobFilters;
  list: { rows: readonly Job[]; hasMore: boolean };
}

/** How many there are, and for dead letters what the API can do with all of them at once. */
function Matching({ filters, list }: MatchingProps) {
  const canRequeue = useCan('dead_letter.requeue');
  const { data } = useQuery({
    queryKey: ['jobs', 'count', filters],
    queryFn: ({ signal }) => api.get('/api/jobs/count', { query: filters, signal }),
  });
  const areLetters = filters.status === 'dead_letter' && filters.subjectId === undefined;
  const sentence =
    data === undefined
      ? ''
      : `${count(data.count)}${data.isExact ? '' : '+'} ${data.count === 1 ? 'job matches' : 'jobs match'}`;
  return (
    <span className="row">
      {sentence}
      {areLetters && canRequeue && list.rows.length > 0 ? (
        <RequeueAll
          filters={{ error_code: undefined, pipeline: filters.pipeline }}
          shown={list.rows.length}
          hasMore={list.hasMore}
        />
      ) : null}
    </span>
  );
}

function NoJobs({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <Empty sentence="No job matches these filters." />;
  return (
    <Empty
      sentence="No job yet. Every upload, sync, scrape, indexing run and file of rows is listed here as a job."
      sample={['Items products.csv', <StatusChip key="state" status="success" />, '1,204 rows', '3 min ago']}
      command="sluice jobs watch"
    />
  );
}
