import { Button, Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { KnowledgeBase } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { useAction } from '../../parts/action.ts';
import { confirm } from '../../parts/confirm.tsx';
import { count } from '../../parts/number.ts';
import { Page, UnreadPage } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { StatusChip } from '../../parts/status-chip.tsx';
import { useGo } from '../../parts/to.tsx';
import { DocumentDrawer } from './document-drawer.tsx';
import { Documents } from './documents.tsx';
import { Files } from './files.tsx';
import { chunkerWords, embedderWords } from './kb-words.ts';
import './knowledge.css';
import { RunPanel } from './run-panel.tsx';
import { type KnowledgeBaseSearch, knowledgeBaseSearch } from './search.ts';
import { SearchPanel } from './search-panel.tsx';
import { Sources } from './sources.tsx';

const breadcrumbs = [{ label: 'Knowledge', to: '/knowledge' }];

export default function KnowledgeBasePage() {
  const { kbId = '' } = useParams({ strict: false });
  const {
    data: kb,
    error,
    refetch,
  } = useQuery({
    queryKey: ['knowledge', 'one', kbId],
    queryFn: ({ signal }) => api.get('/api/knowledge/{kb_id}', { path: { kb_id: kbId }, signal }),
  });
  if (kb === undefined)
    return <UnreadPage title={kbId} breadcrumbs={breadcrumbs} error={error} retry={() => void refetch()} />;
  return (
    <Page
      title={kb.name}
      breadcrumbs={breadcrumbs}
      state={<StatusChip status={kb.status} />}
      actions={<KbActions kb={kb} />}
      sentence={<About kb={kb} />}
    >
      {error === null ? null : <Problem error={error} retry={() => void refetch()} isStale />}
      <SearchPanel kb={kb} />
      <div className="kb-columns">
        <KbTabs kb={kb} />
        <RunPanel kbId={kb.kb_id} />
      </div>
      <DocumentDrawer kbId={kb.kb_id} />
    </Page>
  );
}

function About({ kb }: { kb: KnowledgeBase }) {
  const indexed = kb.documents?.indexed ?? 0;
  return (
    <>
      {count(indexed)} documents in {count(kb.chunks ?? 0)} passages. Embedder: {embedderWords(kb.embedder)}.
      Cut {chunkerWords(kb.chunker)}.
    </>
  );
}

function KbTabs({ kb }: { kb: KnowledgeBase }) {
  const [{ tab = 'documents' }, change] = useListState(knowledgeBaseSearch);
  return (
    <Tabs
      value={tab}
      keepMounted={false}
      onChange={(value) => change({ tab: (value ?? 'documents') as KnowledgeBaseSearch['tab'] })}
    >
      <Tabs.List>
        <Tabs.Tab value="documents">Documents</Tabs.Tab>
        <Tabs.Tab value="sources">Sources</Tabs.Tab>
        <Tabs.Tab value="files">Added files</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="documents" pt="md">
        <Documents kb={kb} />
      </Tabs.Panel>
      <Tabs.Panel value="sources" pt="md">
        <Sources kbId={kb.kb_id} />
      </Tabs.Panel>
      <Tabs.Panel value="files" pt="md">
        <Files kbId={kb.kb_id} />
      </Tabs.Panel>
    </Tabs>
  );
}

function KbActions({ kb }: { kb: KnowledgeBase }) {
  const go = useGo();
  const mayManage = useCan('knowledge.manage');
  const remove = useAction({
    run: () => api.delete('/api/knowledge/{kb_id}', { path: { kb_id: kb.kb_id } }),
    done: () => `Deleted ${kb.name}.`,
    touches: ['knowledge'],
    afterwards: () => go('/knowledge'),
  });
  if (!mayManage) return null;
  const ask = async () => {
    const consequence = 'Its documents, added files and index are deleted. This cannot be undone.';
    if (
      await confirm({
        title: `Delete ${kb.name}?`,
        consequence,
        action: 'Delete knowledge base',
        isDanger: true,
      })
    )
      remove.run();
  };
  return (
    <Button variant="default" color="red" loading={remove.isRunning} onClick={() => void ask()}>
      Delete
    </Button>
  );
}
