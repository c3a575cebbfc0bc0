import { Button, NativeSelect, NumberInput } from '@mantine/core';
import { useCallback, useMemo, useState } from 'react';
import { useCan } from '../../api/queries.ts';
import { useListState } from '../../list-state.ts';
import { Empty } from '../../parts/empty.tsx';
import { count, plural } from '../../parts/number.ts';
import { Problem } from '../../parts/problem.tsx';
import { SelectBar } from '../../parts/select-bar.tsx';
import { ColumnChooser } from './column-chooser.tsx';
import { CountChips } from './count-chips.tsx';
import { chosenColumns, type GridColumn } from './grid-columns.ts';
import { type GridSource, useAllRows, useSomeRows } from './grid-source.ts';
import { canRestart, countOf, type ItemJob } from './item-job.ts';
import {
  type EndedStatus,
  endedStatuses,
  type ItemStatus,
  isEnded,
  itemStatuses,
  openStatuses,
} from './item-status.ts';
import { useReprocess } from './reprocess.ts';
import { RowDrawer } from './row-drawer.tsx';
import { RowGrid } from './row-grid.tsx';
import { isServed, orderOptions, type RowOrder } from './row-order.ts';
import { type RowSelection, useRowSelection } from './row-selection.ts';
import type { GridRow } from './rows-api.ts';
import { itemSearch } from './search.ts';

/** The rows of a job: all of them from any place, or those of some states. */
export function RowsTab({ job }: { job: ItemJob }) {
  const [state, change] = useListState(itemSearch);
  const { statuses, reason, columns: wanted, row } = state;
  const columns = useColumns(job, wanted);
  const selection = useRowSelection();
  const canReprocess = useCan('item.control') && canRestart(job);
  const [goTo, setGoTo] = useState<{ index: number } | null>(null);
  const isOpenOnly = statuses?.every((status) => openStatuses.includes(status)) ?? false;
  const onOpen = useCallback((opened: GridRow) => change({ row: opened.id }), [change]);
  // An order of other states stays in the URL and comes back with them. One reason is in the order of the file.
  const canOrder = state.sort !== undefined && reason === undefined && isServed(state.sort, statuses);
  const order = canOrder ? state.sort : undefined;
  const isDescending = order === '-rowNo';
  const isWhole = statuses === undefined && (order === undefined || isDescending);
  const jump = (rowNo: number) => {
    const within = Math.min(rowNo, job.totalItems);
    if (!isWhole) change({ from: within, sort: undefined });
    else setGoTo({ index: isDescending ? job.totalItems - within : within - 1 });
  };
  const shared = {
    job,
    columns,
    selection: canReprocess ? selection : undefined,
    openId: row,
    onOpen,
    goTo: isWhole ? goTo : null,
  };
  return (
    <div className="stack">
      <div className="row">
        <CountChips
          job={job}
          chosen={statuses}
          onChange={(next) => change({ statuses: next, reason: undefined, from: undefined })}
        />
        <div className="row grid-tools">
          {isOpenOnly ? null : <GoToRow most={job.totalItems} onGo={jump} />}
          {reason === undefined ? (
            <OrderSelect {...{ order, statuses }} onChange={(sort) => change({ sort, from: undefined })} />
          ) : null}
          <ColumnChooser job={job} shown={columns} onChange={(next) => change({ columns: next })} />
        </div>
      </div>
      {isWhole ? (
        <AllRows
          {...shared}
          isDescending={isDescending}
          flip={() => change({ sort: isDescending ? undefined : '-rowNo' })}
        />
      ) : (
        <SomeRows
          {...shared}
          statuses={statuses ?? [...itemStatuses]}
          order={order}
          reason={reason}
          onAllReasons={() => change({ reason: undefined })}
          fromRow={state.from}
          onWhole={() => change({ from: undefined })}
        />
      )}
      <ReprocessBar {...{ job, statuses, reason, selection, canReprocess }} />
      <RowDrawer job={job} itemId={row} onClose={() => change({ row: undefined, part: undefined })} />
    </div>
  );
}

interface OrderSelectProps {
  order: RowOrder | undefined;
  statuses: ItemStatus[] | undefined;
  onChange: (order: RowOrder | undefined) => void;
}

function OrderSelect({ order, statuses, onChange }: OrderSelectProps) {
  return (
    <NativeSelect
      size="xs"
      aria-label="Order of the rows"
      value={order ?? ''}
      data={orderOptions(statuses)}
      onChange={({ currentTarget: { value } }) => onChange(value === '' ? undefined : (value as RowOrder))}
    />
  );
}

function useColumns(job: ItemJob, wanted: string | undefined): GridColumn[] {
  const { columns, resultColumns, failedItems, jobType, processor, jobId } = job;
  const names = JSON.stringify([columns, resultColumns]);
  const hasFailed = failedItems > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the same names are no reason to draw all cells
  return useMemo(
    () =>
      chosenColumns(
        { columns, resultColumns, failedItems: hasFailed ? 1 : 0, jobType, processor, jobId },
        wanted,
      ),
    [names, hasFailed, wanted],
  );
}

interface GridPartProps {
  job: ItemJob;
  columns: GridColumn[];
  selection: RowSelection | undefined;
  openId: string | undefined;
  onOpen: (row: GridRow) => void;
  goTo: { index: number } | null;
}

const usesInput = (columns: readonly GridColumn[]) => columns.some(({ from }) => from === 'input');

function AllRows({
  isDescending,
  flip,
  ...props
}: GridPartProps & { isDescending: boolean; flip: () => void }) {
  const { job, columns } = props;
  const source = useAllRows(job, { isDescending, withInput: usesInput(columns) });
  return (
    <Rows
      {...props}
      source={source}
      label={`Rows of ${job.fileName ?? job.jobId}`}
      sort={{ isDescending, flip }}
      footer={
        <span>
          {plural(job.totalItems, 'row')} · drag the bar or type a number to go anywhere; j, k, Enter and x
          work here
        </span>
      }
    />
  );
}

interface SomeRowsProps extends GridPartProps {
  statuses: ItemStatus[];
  order: RowOrder | undefined;
  reason: string | undefined;
  onAllReasons: () => void;
  fromRow: number | undefined;
  onWhole: () => void;
}

function SomeRows({ statuses, order, reason, onAllReasons, fromRow, onWhole, ...props }: SomeRowsProps) {
  const { job, columns } = props;
  const filter = { statuses, errorCode: reason, fromRow, order };
  const source = useSomeRows(job, { ...filter, withInput: usesInput(columns) });
  const matching = countOf(job.counts, statuses);
  return (
    <Rows
      {...props}
      source={source}
      label={`Chosen rows of ${job.fileName ?? job.jobId}`}
      footer={
        <>
          <span>
            {loadedWords({ loaded: source.count, matching, order, reason })}
            {fromRow === undefined ? '' : `, from row ${count(fromRow)} on`}
            {reason === undefined && order !== '-attempts' && source.count < matching
              ? '; scroll for more'
              : ''}
          </span>
          {reason === undefined ? null : (
            <Button variant="subtle" size="compact-xs" onClick={onAllReasons}>
              Show all reasons
            </Button>
          )}
          {fromRow === undefined ? null : (
            <Button variant="subtle" size="compact-xs" onClick={onWhole}>
              Back to the first row
            </Button>
          )}
        </>
      }
    />
  );
}

function loadedWords({
  loaded,
  matching,
  order,
  reason,
}: Pick<SomeRowsProps, 'order' | 'reason'> & { loaded: number; matching: number }): string {
  if (reason !== undefined) return `${plural(loaded, 'row')} loaded that failed with ${reason}`;
  if (order === '-attempts') return `${plural(loaded, 'row')} loaded that had more than one try`;
  return `${count(loaded)} of ${plural(matching, 'row')} loaded`;
}

interface RowsProps extends GridPartProps {
  source: GridSource;
  label: string;
  sort?: { isDescending: boolean; flip: () => void };
  footer: React.ReactNode;
}

function Rows({ source, footer, job: _job, ...props }: RowsProps) {
  const problem =
    source.error === null ? null : (
      <Problem error={source.error} isStale={source.count > 0} retry={source.refetch} />
    );
  if (source.count === 0 && !source.isLoading && problem === null) {
    return (
      <div className="list-empty">
        <Empty sentence="No row is in these states." />
      </div>
    );
  }
  return (
    <>
      {problem}
      <RowGrid {...props} source={source} footer={<div className="grid-foot">{footer}</div>} />
    </>
  );
}

function GoToRow({ most, onGo }: { most: number; onGo: (rowNo: number) => void }) {
  const [wanted, setWanted] = useState<number | string>('');
  return (
    <form
      className="row"
      onSubmit={(event) => {
        event.preventDefault();
        if (typeof wanted === 'number' && wanted >= 1) onGo(Math.floor(wanted));
      }}
    >
      <NumberInput
        size="xs"
        w={130}
        min={1}
        max={most}
        allowDecimal={false}
        hideControls
        thousandSeparator=","
        aria-label="Go to row"
        placeholder="Go to row"
        value={wanted}
        onChange={setWanted}
      />
    </form>
  );
}

interface ReprocessBarProps {
  job: ItemJob;
  statuses: ItemStatus[] | undefined;
  reason: string | undefined;
  selection: RowSelection;
  canReprocess: boolean;
}

/** The chosen rows, or all of the states that the grid is filtered by. */
function ReprocessBar({ job, statuses, reason, selection, canReprocess }: ReprocessBarProps) {
  const [isAll, setAll] = useState(false);
  const { chosen, clear } = selection;
  const reset = () => {
    setAll(false);
    clear();
  };
  const { run, isRunning } = useReprocess(reset);
  if (!canReprocess) return null;
  const ended = statuses?.filter(isEnded) ?? [];
  // How many rows have one reason is not known here; the panel of failures retries them all.
  const canAll = statuses !== undefined && reason === undefined && ended.length === statuses.length;
  const matching = countOf(job.counts, ended);
  const isOnAll = isAll && canAll;
  const number = isOnAll ? matching : chosen.size;
  const act = () => {
    if (isOnAll) run({ jobId: job.jobId, statuses: ended });
    else
      run({
        jobId: job.jobId,
        itemIds: [...chosen.keys()],
        statuses: endedStatuses satisfies readonly EndedStatus[],
      });
  };
  return (
    <SelectBar
      count={chosen.size}
      noun="row"
      onClear={reset}
      matching={
        canAll && matching > chosen.size
          ? { label: `All ${count(matching)} matching`, isOn: isOnAll, choose: () => setAll(true) }
          : undefined
      }
    >
      <Button loading={isRunning} onClick={act}>
        Reprocess {plural(number, 'row')}
      </Button>
    </SelectBar>
  );
}
