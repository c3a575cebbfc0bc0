import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { Job } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { Empty } from '../../parts/empty.tsx';
import { FilterBar, FilterSelect } from '../../parts/filter-bar.tsx';
import { Icon } from '../../parts/icons.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { count, plural } from '../../parts/number.ts';
import { statusLook } from '../../parts/status.ts';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago, Duration } from '../../parts/time.tsx';
import { asItemJob, itemJobName } from './item-job.ts';
import { OutcomeChip } from './outcome-chip.tsx';
import { ProgressPill } from './progress-pill.tsx';
import { itemJobStates, itemsSearch } from './search.ts';
import './items.css';

const jobKey = ({ jobId }: Job) => jobId;
const stateOptions = itemJobStates.map((value) => ({ value, label: statusLook(value, 'job').word }));

const columns: readonly Column<Job>[] = [
  {
    id: 'name',
    header: 'File',
    cell: (job) => {
      const items = asItemJob(job);
      return items === null ? job.jobId.slice(-8) : itemJobName(items);
    },
  },
  { id: 'state', header: 'State', width: 112, cell: (job) => <State job={job} /> },
  { id: 'progress', header: 'Rows', width: 190, cell: (job) => <Progress job={job} /> },
  { id: 'failed', header: 'Failed', width: 130, cell: (job) => <Failed job={job} /> },
  { id: 'processor', header: 'Processor', width: 90, cell: (job) => asItemJob(job)?.processor ?? '–' },
  { id: 'by', header: 'By', width: 90, cell: ({ createdBy }) => createdBy },
  {
    id: 'took',
    header: 'Took',
    width: 90,
    align: 'end',
    cell: ({ startedAt, finishedAt }) => <Duration from={startedAt} to={finishedAt} />,
  },
  { id: 'made', header: 'Created', width: 100, cell: ({ createdAt }) => <Ago at={createdAt} /> },
];

/** Files of rows, newest first. */
export default function ItemsPage() {
  const [{ status }, change] = useListState(itemsSearch);
  const canCreate = useCan('item.create');
  const list = useKeysetList<Job>({
    queryKey: ['items', 'list', { status }],
    fetchPage: (cursor, signal) =>
      api.get('/api/jobs', { query: { pipeline: 'items', status, cursor, limit: 50 }, signal }),
    rowKey: jobKey,
  });
  return (
    <ListPage
      title="Items"
      actions={
        <>
          {canCreate ? (
            <NewButton />
          ) : (
            <span className="dim small">Your role can read rows but not upload any.</span>
          )}
          <Button variant="default" component={Link} to="/pending">
            Show all pending rows
          </Button>
        </>
      }
      filters={
        <FilterBar isFiltered={status !== undefined} onReset={() => change({ status: undefined })}>
          <FilterSelect
            label="State"
            all="All states"
            value={status}
            options={stateOptions}
            onChange={(value) => change({ status: value })}
          />
        </FilterBar>
      }
      label="Files of rows"
      columns={columns}
      rows={list.rows}
      rowKey={jobKey}
      href={({ jobId }) => `/items/${jobId}`}
      empty={<NoItems isFiltered={status !== undefined} canCreate={canCreate} />}
      list={list}
      noun="files"
    />
  );
}

function NewButton() {
  return (
    <Button component={Link} to="/items/new" leftSection={<Icon name="plus" size={13} />}>
      New items job
    </Button>
  );
}

function Progress({ job }: { job: Job }) {
  const items = asItemJob(job);
  if (items === null) return <span className="dim">–</span>;
  const { processedItems, totalItems, status, counts } = items;
  // Rows that a cancel skipped were not processed.
  const processed = status === 'canceled' ? processedItems - counts.SKIPPED : processedItems;
  return <ProgressPill processed={processed} total={totalItems} isMoving={status === 'running'} />;
}

function Failed({ job }: { job: Job }) {
  const counts = asItemJob(job)?.counts;
  if (counts === undefined || counts.ERROR + counts.NOT_FOUND === 0) return <span className="dim">–</span>;
  const words = [
    counts.ERROR === 0 ? '' : plural(counts.ERROR, 'error'),
    counts.NOT_FOUND === 0 ? '' : `${count(counts.NOT_FOUND)} not found`,
  ];
  return <span title={words.join(', ')}>{words.filter((word) => word !== '').join(', ')}</span>;
}

function NoItems({ isFiltered, canCreate }: { isFiltered: boolean; canCreate: boolean }) {
  if (isFiltered) return <Empty sentence="No file of rows is in this state." />;
  return (
    <Empty
      sentence="No file yet. Upload a file of rows: every row is processed and ends in a state with a reason."
      sample={['products.csv', '1,204 of 1,204 rows', '1,180 done, 24 not found', '3 min ago']}
      button={canCreate ? <NewButton /> : undefined}
      command="sluice items import products.csv --processor noop"
    />
  );
}

function State({ job }: { job: Job }) {
  const items = asItemJob(job);
  return items === null ? <StatusChip status={job.status} of="job" /> : <OutcomeChip job={items} />;
}
