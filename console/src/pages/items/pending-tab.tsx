import { useListState } from '../../list-state.ts';
import { Empty } from '../../parts/empty.tsx';
import { FilterBar, FilterSelect } from '../../parts/filter-bar.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { KeysetTable } from '../../parts/keyset-table.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { count, plural } from '../../parts/number.ts';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago } from '../../parts/time.tsx';
import { countOf, type ItemJob } from './item-job.ts';
import { type ItemStatus, openStatuses } from './item-status.ts';
import { RowDrawer } from './row-drawer.tsx';
import { type GridRow, getRows } from './rows-api.ts';
import { itemSearch } from './search.ts';
import { WaitsFor } from './waits-for.tsx';

const rowKey = ({ id }: GridRow) => id;
const pageRows = 100;

const statusOptions: { value: ItemStatus; label: string }[] = [
  { value: 'PENDING', label: 'Pending' },
  { value: 'PROCESSING', label: 'Processing' },
];

/** The open rows of one job, the longest unchanged first. */
export function PendingTab({ job }: { job: ItemJob }) {
  const [{ statuses, row }, change] = useListState(itemSearch);
  const wanted = openStatuses.filter((status) => statuses?.includes(status) ?? true);
  const asked = wanted.length === 0 ? openStatuses : wanted;
  const chosen = asked.length === 1 ? asked[0] : undefined;
  const list = useKeysetList<GridRow>({
    queryKey: ['items', 'open', job.jobId, asked],
    fetchPage: (after, signal) =>
      getRows(job.jobId, { statuses: asked, after, pageSize: pageRows, input: false }, signal),
    rowKey,
    announcesNew: false,
  });
  return (
    <div className="stack">
      <FilterBar
        isFiltered={chosen !== undefined}
        onReset={() => change({ statuses: undefined })}
        aside={
          `${plural(countOf(job.counts, openStatuses), 'open row')} = ` +
          `${count(job.counts.PENDING)} pending + ${count(job.counts.PROCESSING)} processing`
        }
      >
        <FilterSelect
          label="State"
          all="All open rows"
          value={chosen}
          options={statusOptions}
          onChange={(value) => change({ statuses: value === undefined ? undefined : [value] })}
        />
      </FilterBar>
      <KeysetTable
        label="Open rows"
        columns={pendingColumns}
        rows={list.rows}
        rowKey={rowKey}
        onOpen={({ id }) => change({ row: id })}
        openKey={row}
        empty={<Empty sentence="No open rows: every row of this job has ended." />}
        list={list}
        noun="open rows"
      />
      <RowDrawer job={job} itemId={row} onClose={() => change({ row: undefined, part: undefined })} />
    </div>
  );
}

const pendingColumns: Column<GridRow>[] = [
  { id: 'id', header: 'Item ID', width: 110, cell: ({ id }) => <span className="num">{id}</span> },
  {
    id: 'row',
    header: 'Row',
    width: 90,
    align: 'end',
    cell: ({ rowNo }) => <span className="num">{count(rowNo)}</span>,
  },
  { id: 'title', header: 'Title / Brand', cell: (row) => <Title row={row} /> },
  { id: 'status', header: 'Status', width: 130, cell: ({ status }) => <StatusChip status={status} /> },
  {
    id: 'attempts',
    header: 'Attempts',
    width: 86,
    align: 'end',
    cell: ({ attempts }) => <span className="num">{attempts}</span>,
  },
  { id: 'next', header: 'Next, or why', width: 220, cell: (row) => <Next row={row} /> },
  {
    id: 'locked',
    header: 'Locked by',
    width: 110,
    cell: ({ lockedBy }) => <span title={lockedBy ?? ''}>{lockedBy?.slice(-8) ?? '–'}</span>,
  },
  { id: 'updated', header: 'Updated', width: 110, cell: ({ updatedAt }) => <Ago at={updatedAt} /> },
];

/** What a row is about: its title and brand where it has them, otherwise its first columns. */
function Title({ row: { inputSummary } }: { row: GridRow }) {
  const { title, brand, sku, first = [] } = inputSummary ?? {};
  const known = [title, brand, title || brand ? null : sku].flatMap((text) => text ?? []);
  const shown = known.length > 0 ? known : first.map(({ value }) => value);
  return <span title={shown.join(' · ')}>{shown.join(' · ')}</span>;
}

function Next({ row }: { row: GridRow }) {
  if (row.nextAttemptAt === null && row.lastError === null) return <span className="dim">–</span>;
  return (
    <span title={row.lastError ?? ''}>
      {row.nextAttemptAt === null ? null : (
        <>
          <WaitsFor row={row} />
          {row.lastError === null ? '' : ' · '}
        </>
      )}
      {row.lastError}
    </span>
  );
}
