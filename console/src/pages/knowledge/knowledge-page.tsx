import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { KnowledgeBase } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { Empty } from '../../parts/empty.tsx';
import { FilterBar, FilterText } from '../../parts/filter-bar.tsx';
import { MoreRows, useKeysetList } from '../../parts/keyset-list.tsx';
import { type Column, ListTable } from '../../parts/list-table.tsx';
import { Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago } from '../../parts/time.tsx';
import { chunkerWords, embedderWords } from './kb-words.ts';
import { knowledgeSearch } from './search.ts';

const rowKey = (kb: KnowledgeBase) => kb.kb_id;
const hrefOf = (kb: KnowledgeBase) => `/knowledge/${encodeURIComponent(kb.kb_id)}`;

export default function KnowledgePage() {
  const [{ q }, change] = useListState(knowledgeSearch);
  const mayManage = useCan('knowledge.manage');
  const list = useKeysetList({
    queryKey: ['knowledge', 'list'],
    fetchPage: (cursor, signal) => api.get('/api/knowledge', { query: { cursor, limit: 200 }, signal }),
    rowKey,
    announcesNew: false,
  });
  const rows = useMemo(() => list.rows.filter((kb) => matches(kb, q)), [list.rows, q]);
  const button = mayManage ? (
    <Button component={Link} to="/knowledge/new">
      New knowledge base
    </Button>
  ) : (
    <Button disabled title="Admins of the tenant make knowledge bases.">
      New knowledge base
    </Button>
  );
  return (
    <Page
      title="Knowledge"
      sentence="Documents cut into passages that can be found by meaning and by words."
      actions={button}
    >
      <FilterBar isFiltered={q !== undefined} onReset={() => change({ q: undefined })}>
        <FilterText label="Name or id" value={q} onChange={(text) => change({ q: text })} />
      </FilterBar>
      {list.error === null ? null : (
        <Problem error={list.error} retry={list.refetch} isStale={rows.length > 0} />
      )}
      <ListTable
        label="Knowledge bases"
        columns={columns}
        rows={rows}
        rowKey={rowKey}
        href={hrefOf}
        isLoading={list.isLoading}
        empty={list.error === null ? <NoBases q={q} button={button} /> : undefined}
        footer={<MoreRows list={list} noun="knowledge bases" />}
      />
    </Page>
  );
}

function matches({ name, kb_id }: KnowledgeBase, q: string | undefined): boolean {
  if (q === undefined) return true;
  return [name, kb_id].some((text) => text.toLowerCase().includes(q.toLowerCase()));
}

const columns: Column<KnowledgeBase>[] = [
  {
    id: 'name',
    header: 'Knowledge base',
    width: 240,
    cell: ({ name }) => <span className="cut">{name}</span>,
  },
  { id: 'status', header: 'Last run', width: 140, cell: ({ status }) => <StatusChip status={status} /> },
  {
    id: 'index',
    header: 'Searches',
    width: 130,
    cell: ({ generation }) => (generation === 0 ? 'not yet' : 'answered'),
  },
  {
    id: 'embedder',
    header: 'Embedder',
    width: 180,
    cell: ({ embedder }) => <span className="cut">{embedderWords(embedder)}</span>,
  },
  {
    id: 'chunker',
    header: 'Cut',
    width: 200,
    cell: ({ chunker }) => <span className="cut">{chunkerWords(chunker)}</span>,
  },
  { id: 'at', header: 'Changed', width: 120, cell: ({ updated_at }) => <Ago at={updated_at} /> },
];

function NoBases({ q, button }: { q: string | undefined; button: React.ReactNode }) {
  if (q !== undefined) return <Empty sentence={`No knowledge base matches “${q}”.`} />;
  return (
    <Empty
      sentence="A knowledge base takes files, folders and sites in and answers questions with the passages that fit."
      sample={['Support handbook', 'done', '312 documents', '4,870 passages']}
      button={button}
      command="npx sluice index ./docs --kb support"
    />
  );
}
