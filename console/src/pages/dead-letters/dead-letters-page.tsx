import { useState } from 'react';
import { api } from '../../api/client.ts';
import { codeWords } from '../../api/needs.ts';
import { useCan } from '../../api/queries.ts';
import type { DeadLetter } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { Empty } from '../../parts/empty.tsx';
import { FilterBar, FilterSelect } from '../../parts/filter-bar.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { Page } from '../../parts/page.tsx';
import { jobName, pipelineLook, pipelines } from '../../parts/pipelines.ts';
import { Ago } from '../../parts/time.tsx';
import { CodeChips } from './code-chips.tsx';
import { RequeueAll, RequeueBar } from './requeue-bar.tsx';
import { deadLettersSearch } from './search.ts';
import './dead-letters.css';

const columns: readonly Column<DeadLetter>[] = [
  {
    id: 'job',
    header: 'Job',
    width: 210,
    cell: jobName,
  },
  {
    id: 'why',
    header: 'Why',
    cell: ({ error_message, error_code }) => (
      <span title={error_message ?? ''}>{error_message ?? codeWords(error_code)}</span>
    ),
  },
  { id: 'code', header: 'Code', width: 200, cell: ({ error_code }) => <code>{error_code ?? '–'}</code> },
  { id: 'attempts', header: 'Attempts', width: 80, align: 'end', cell: ({ retry_count }) => retry_count + 1 },
  { id: 'at', header: 'Failed', width: 110, cell: ({ finished_at }) => <Ago at={finished_at} /> },
];

const notForYou =
  'Only the roles admin, support and operator see dead letters. Your own failed jobs are under Jobs.';

const letterKey = ({ job_id }: DeadLetter) => job_id;
const pipelineOptions = pipelines.map((value) => ({ value, label: pipelineLook(value).label }));

const title = 'Dead letters';
const sentence = 'Jobs that failed for good. Fix the cause, then requeue: each becomes a new job, once.';

/** Jobs that failed for good, by reason, and their second chance. */
export default function DeadLettersPage() {
  if (useCan('dead_letter.read')) return <DeadLetters />;
  return (
    <Page title={title} sentence={sentence}>
      <Empty sentence={notForYou} />
    </Page>
  );
}

function DeadLetters() {
  const [{ error_code, pipeline }, change] = useListState(deadLettersSearch);
  const filters = { error_code, pipeline };
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const canRequeue = useCan('dead_letter.requeue');
  const list = useKeysetList<DeadLetter>({
    queryKey: ['dead-letters', 'list', filters],
    fetchPage: (cursor, signal) =>
      api.get('/api/dead-letters', { query: { ...filters, cursor, limit: 50 }, signal }),
    rowKey: letterKey,
  });
  const setFilter = (changes: Parameters<typeof change>[0]) => {
    setChosen(new Set());
    change(changes);
  };
  const isFiltered = error_code !== undefined || pipeline !== undefined;
  return (
    <ListPage
      title={title}
      sentence={sentence}
      notice={<CodeChips chosen={error_code} onChoose={(code) => setFilter({ error_code: code })} />}
      filters={
        <>
          <FilterBar
            isFiltered={isFiltered}
            onReset={() => setFilter({ error_code: undefined, pipeline: undefined })}
            aside={
              canRequeue && list.rows.length > 0 ? (
                <RequeueAll filters={filters} shown={list.rows.length} hasMore={list.hasMore} />
              ) : undefined
            }
          >
            <FilterSelect
              label="Pipeline"
              all="All pipelines"
              value={pipelines.find((name) => name === pipeline)}
              options={pipelineOptions}
              onChange={(value) => setFilter({ pipeline: value })}
            />
          </FilterBar>
          {canRequeue ? null : (
            <p className="dim">
              Only the roles support and operator can requeue. You can read the list and share its link.
            </p>
          )}
        </>
      }
      label="Dead letters"
      columns={columns}
      rows={list.rows}
      rowKey={letterKey}
      href={({ job_id }) => `/jobs/${job_id}`}
      selection={canRequeue ? { keys: chosen, change: setChosen } : undefined}
      empty={<NoLetters isFiltered={isFiltered} />}
      list={list}
      noun="dead letters"
    >
      <RequeueBar chosen={chosen} onClear={() => setChosen(new Set())} />
    </ListPage>
  );
}

function NoLetters({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <Empty sentence="No dead letter matches these filters." />;
  return (
    <Empty
      sentence="No job has failed for good. A job that does is listed here until it is requeued."
      sample={['Sync meta-ads', 'invalid credentials', '3 min ago']}
      command="sluice dlq list"
    />
  );
}
