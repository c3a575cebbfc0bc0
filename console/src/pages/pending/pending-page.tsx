import { Button, Switch, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiProblem, api, type QueryOf, type Reply } from '../../api/client.ts';
import { useCan, useMe } from '../../api/queries.ts';
import { type SearchOf, useListState } from '../../list-state.ts';
import { useAction } from '../../parts/action.ts';
import { Empty } from '../../parts/empty.tsx';
import { FilterBar, FilterSelect, FilterText } from '../../parts/filter-bar.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import { plural } from '../../parts/number.ts';
import { Page } from '../../parts/page.tsx';
import { SelectBar } from '../../parts/select-bar.tsx';
import { useGo } from '../../parts/to.tsx';
import { endedStatuses } from '../items/item-status.ts';
import { postReprocess } from '../items/reprocess.ts';
import { type PendingRow, pendingColumns } from './pending-columns.tsx';
import { groupByJob, selectedSentence } from './pending-words.ts';
import { pendingSearch } from './search.ts';
import '../items/items.css';

const rowKey = ({ id }: PendingRow) => id;
const pageRows = 100;
const sentence = 'Pending and processing rows of all files, the longest unchanged first.';

/** The open rows of all files. */
export default function PendingPage() {
  const [state, change] = useListState(pendingSearch);
  const role = useMe()?.role;
  const seesAll = role !== undefined && role !== 'member';
  const query = queryOf(state, seesAll);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const canReprocess = useCan('item.control');
  const list = useKeysetList<PendingRow>({
    queryKey: ['pending', 'list', query],
    fetchPage: (after, signal) =>
      api.get('/api/pending', { query: { ...query, after, pageSize: pageRows }, signal }),
    rowKey,
    announcesNew: false,
  });
  if (list.error instanceof ApiProblem && list.error.code === 'feature_disabled') return <SwitchedOff />;
  return (
    <ListPage
      title="Pending"
      sentence={sentence}
      filters={
        <Filters
          state={state}
          seesAll={seesAll}
          change={(changes) => {
            setChosen(new Set());
            change(changes);
          }}
          aside={<OpenCount query={query} />}
        />
      }
      label="Open rows"
      columns={pendingColumns}
      rows={list.rows}
      rowKey={rowKey}
      selection={canReprocess ? { keys: chosen, change: setChosen } : undefined}
      empty={<Nothing isFiltered={isFiltered(state)} />}
      list={list}
      noun="open rows"
    >
      <ChosenBar
        rows={list.rows.filter(({ id }) => chosen.has(id))}
        canReprocess={canReprocess}
        onClear={() => setChosen(new Set())}
      />
    </ListPage>
  );
}

type State = SearchOf<typeof pendingSearch>;
type Asked = Omit<QueryOf<'/api/pending'>, 'after' | 'pageSize'>;

function queryOf({ status, jobType, jobId, from, to, mine }: State, seesAll: boolean): Asked {
  return {
    statuses: status ?? 'PENDING,PROCESSING',
    userId: seesAll && !mine ? 'all' : 'me',
    ...(jobType === undefined ? {} : { jobType }),
    ...(jobId === undefined ? {} : { jobId }),
    ...(from === undefined ? {} : { updatedFrom: new Date(`${from}T00:00:00`).toISOString() }),
    ...(to === undefined ? {} : { updatedTo: new Date(`${to}T23:59:59.999`).toISOString() }),
  };
}

function isFiltered({ status, jobType, jobId, from, to, mine }: State): boolean {
  return [status, jobType, jobId, from, to, mine].some((value) => value !== undefined);
}

const nothing: State = {
  status: undefined,
  jobType: undefined,
  jobId: undefined,
  from: undefined,
  to: undefined,
  mine: undefined,
} as State;

interface FiltersProps {
  state: State;
  seesAll: boolean;
  change: (changes: State) => void;
  aside: React.ReactNode;
}

function Filters({ state, seesAll, change, aside }: FiltersProps) {
  const day = (name: 'from' | 'to', label: string) => (
    <TextInput
      type="date"
      size="xs"
      w={140}
      aria-label={label}
      title={label}
      value={state[name] ?? ''}
      onChange={(event) => change({ [name]: event.currentTarget.value || undefined } as State)}
    />
  );
  return (
    <FilterBar isFiltered={isFiltered(state)} onReset={() => change(nothing)} aside={aside}>
      <FilterSelect
        label="Status"
        all="All open rows"
        value={state.status}
        options={[
          { value: 'PENDING', label: 'Pending' },
          { value: 'PROCESSING', label: 'Processing' },
        ]}
        onChange={(value) => change({ status: value } as State)}
      />
      <FilterSelect
        label="Job type"
        all="Rows and images"
        value={state.jobType}
        options={[
          { value: 'csv', label: 'Rows' },
          { value: 'image', label: 'Images' },
        ]}
        onChange={(value) => change({ jobType: value } as State)}
      />
      <FilterText
        label="Job ID"
        value={state.jobId}
        onChange={(value) => change({ jobId: value } as State)}
      />
      {day('from', 'Updated from')}
      {day('to', 'Updated until')}
      {seesAll ? (
        <Switch
          size="xs"
          label="Only mine"
          checked={state.mine ?? false}
          onChange={(event) => change({ mine: event.currentTarget.checked || undefined } as State)}
        />
      ) : null}
    </FilterBar>
  );
}

/** From the first page: counted by the server at most twice a minute. */
function OpenCount({ query }: { query: Asked }) {
  const client = useQueryClient();
  type Pages = { pages: Reply<'/api/pending'>[] } | undefined;
  const open = (client.getQueryData(['pending', 'list', query]) as Pages)?.pages[0]?.pendingCount;
  if (open === undefined) return null;
  const whose = query.userId === 'all' ? '' : ' of yours';
  return (
    <span title="All open rows, without filters, counted at most half a minute ago">
      {plural(open, 'row')}
      {whose} open
    </span>
  );
}

interface ChosenBarProps {
  rows: readonly PendingRow[];
  canReprocess: boolean;
  onClear: () => void;
}

function ChosenBar({ rows, canReprocess, onClear }: ChosenBarProps) {
  const go = useGo();
  const groups = groupByJob(rows);
  const reprocess = useAction<{ reset: number; exhausted: number }>({
    run: async () => {
      const total = { reset: 0, exhausted: 0 };
      for (const [jobId, itemIds] of groups) {
        const { reset, exhausted } = await postReprocess({ jobId, itemIds, statuses: endedStatuses });
        total.reset += reset;
        total.exhausted += exhausted;
      }
      return total;
    },
    done: (answer) => selectedSentence(rows.length, answer),
    touches: ['items', 'pending', 'jobs'],
    afterwards: onClear,
  });
  const [only] = groups.keys();
  return (
    <SelectBar count={rows.length} noun="row" onClear={onClear}>
      {groups.size === 1 ? (
        <Button variant="default" onClick={() => go(`/items/${only}`)}>
          Go to job
        </Button>
      ) : null}
      {canReprocess ? (
        <Button loading={reprocess.isRunning} onClick={() => reprocess.run()}>
          Reprocess {plural(rows.length, 'row')}
        </Button>
      ) : null}
    </SelectBar>
  );
}

function Nothing({ isFiltered: isCut }: { isFiltered: boolean }) {
  if (isCut) return <Empty sentence="No open row matches these filters." />;
  return <Empty sentence="No open rows: every row of every file has ended." />;
}

const switchedOff =
  'This list is switched off on this server (GLOBAL_PENDING_ENABLED is false). ' +
  'The pending rows of each file are on its page, in the tab Pending.';

function SwitchedOff() {
  return (
    <Page title="Pending" sentence={sentence}>
      <div className="list-empty">
        <Empty
          sentence={switchedOff}
          button={
            <Button component={Link} to="/items" variant="default">
              Open items
            </Button>
          }
        />
      </div>
    </Page>
  );
}
