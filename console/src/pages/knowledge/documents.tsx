import { api } from '../../api/client.ts';
import type { KnowledgeBase, KnowledgeDocument } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { CountSum } from '../../parts/counts.tsx';
import { Empty } from '../../parts/empty.tsx';
import { FilterBar, FilterSelect } from '../../parts/filter-bar.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { KeysetTable } from '../../parts/keyset-table.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { count } from '../../parts/number.ts';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago } from '../../parts/time.tsx';
import { documentStates, knowledgeBaseSearch } from './search.ts';

const rowKey = (document: KnowledgeDocument) => document.document_id;
const labels: Record<(typeof documentStates)[number], string> = {
  indexed: 'Indexed',
  empty: 'Empty',
  error: 'With an error',
  gone: 'Gone',
};

export function Documents({ kb }: { kb: KnowledgeBase }) {
  const [{ state, document }, change] = useListState(knowledgeBaseSearch);
  const list = useKeysetList({
    queryKey: ['knowledge', 'documents', kb.kb_id, state ?? null],
    fetchPage: (cursor, signal) =>
      api.get('/api/knowledge/{kb_id}/documents', {
        path: { kb_id: kb.kb_id },
        query: { state, cursor, limit: 100 },
        signal,
      }),
    rowKey,
    announcesNew: false,
  });
  return (
    <>
      <FilterBar
        isFiltered={state !== undefined}
        onReset={() => change({ state: undefined })}
        aside={<DocumentCounts documents={kb.documents ?? {}} />}
      >
        <FilterSelect
          label="State"
          value={state}
          all="All states"
          options={documentStates.map((value) => ({ value, label: labels[value] }))}
          onChange={(value) => change({ state: value })}
        />
      </FilterBar>
      <KeysetTable
        label="Documents"
        columns={columns}
        rows={list.rows}
        rowKey={rowKey}
        onOpen={(row) => change({ document: row.document_id, at: undefined })}
        openKey={document}
        empty={
          <Empty
            sentence={
              state === undefined
                ? 'No document yet. Add files or a source, then start a run.'
                : 'No document is in this state.'
            }
          />
        }
        list={list}
        noun="documents"
      />
    </>
  );
}

function DocumentCounts({ documents }: { documents: Record<string, number> }) {
  const { indexed = 0, empty = 0, error = 0, gone = 0 } = documents;
  const total = indexed + empty + error + gone;
  if (total === 0) return null;
  return (
    <CountSum
      total={total}
      noun="documents"
      parts={[
        { label: 'indexed', value: indexed, tone: 'done' },
        { label: 'empty', value: empty, tone: 'queued' },
        { label: 'with an error', value: error, tone: 'failed' },
        { label: 'gone', value: gone, tone: 'canceled' },
      ]}
    />
  );
}

const columns: Column<KnowledgeDocument>[] = [
  {
    id: 'title',
    header: 'Document',
    cell: ({ title, uri }) => (
      <span className="cut" title={uri}>
        {title || uri}
      </span>
    ),
  },
  { id: 'state', header: 'State', width: 110, cell: ({ state }) => <StatusChip status={state} /> },
  {
    id: 'chunks',
    header: 'Passages',
    width: 80,
    align: 'end',
    cell: ({ chunk_count }) => count(chunk_count),
  },
  { id: 'at', header: 'Changed', width: 110, cell: ({ updated_at }) => <Ago at={updated_at} /> },
  {
    id: 'why',
    header: 'What happened',
    width: 260,
    cell: ({ error_text, error_code, notes }) => (
      <span className="cut" title={error_text ?? notes.join(' ')}>
        {error_text ?? notes.join(' ')} <span className="dim mono small">{error_code}</span>
      </span>
    ),
  },
];
