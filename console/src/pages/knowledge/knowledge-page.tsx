import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { KnowledgeBase } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { Empty } from '../../parts/empty.tsx';
import { hasText, TextFilterBar } from '../../parts/filter-bar.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import type { Column } from '../../parts/list-table.tsx';
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
  const rows = useMemo(
    () => list.rows.filter(({ name, kb_id }) => hasText([name, kb_id], q)),
    [list.rows, q],
  );
  const button = mayManage ? (
    <Button component={Link} to="/knowledge/new">
      New knowledge base
    </Button>
  ) : (
    <Button disabled title="Only admins of the tenant can create knowledge bases.">
      New knowledge base
    </Button>
  );
  return (
    <ListPage
      title="Knowledge"
      sentence="Documents cut into passages that can be found by meaning and by words."
      actions={button}
      filters={<TextFilterBar label="Name or id" value={q} onChange={(text) => change({ q: text })} />}
      label="Knowledge bases"
      columns={columns}
      rows={rows}
      rowKey={rowKey}
      href={hrefOf}
      empty={<NoBases q={q} button={button} />}
      list={list}
      noun="knowledge bases"
    />
  );
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
    cell: ({ generation }) => (generation === 0 ? 'not yet' : 'ready'),
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
      sentence="No knowledge base yet. Create one from files, folders or sites, and search it by meaning and by words."
      sample={['Support handbook', 'done', '312 documents', '4,870 passages']}
      button={button}
      command="sluice index ./docs --kb support"
    />
  );
}
