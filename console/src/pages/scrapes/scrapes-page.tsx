import { Button } from '@mantine/core';
import { useMemo, useState } from 'react';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { ScrapeSource } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { Empty } from '../../parts/empty.tsx';
import { hasText, TextFilterBar } from '../../parts/filter-bar.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago } from '../../parts/time.tsx';
import { pushCommand } from './push-command.ts';
import { scrapesSearch } from './search.ts';
import { SourceDialog } from './source-dialog.tsx';

const rowKey = (source: ScrapeSource) => source.source;
const hrefOf = (source: ScrapeSource) => `/scrapes/${encodeURIComponent(source.source)}`;

export default function ScrapesPage() {
  const [{ q }, change] = useListState(scrapesSearch);
  const [isOpen, setOpen] = useState(false);
  const mayManage = useCan('scrape.manage');
  const list = useKeysetList({
    queryKey: ['scrapes', 'list'],
    fetchPage: (cursor, signal) =>
      api.get('/api/scraping/sources', { query: { cursor, limit: 200 }, signal }),
    rowKey,
    announcesNew: false,
  });
  const rows = useMemo(
    () => list.rows.filter(({ source, url, kb_id }) => hasText([source, url ?? '', kb_id], q)),
    [list.rows, q],
  );
  const button = (
    <Button
      disabled={!mayManage}
      title={mayManage ? '' : 'Only admins of the tenant can create sources.'}
      onClick={() => setOpen(true)}
    >
      New source
    </Button>
  );
  return (
    <ListPage
      title="Scrapes"
      sentence="Pushed and crawled references, each handed over to its knowledge base once."
      actions={button}
      filters={
        <TextFilterBar label="Name, address or base" value={q} onChange={(text) => change({ q: text })} />
      }
      label="Scrape sources"
      columns={columns}
      rows={rows}
      rowKey={rowKey}
      href={hrefOf}
      empty={<NoSources q={q} button={button} />}
      list={list}
      noun="sources"
    >
      {isOpen ? <SourceDialog source={null} onClose={() => setOpen(false)} /> : null}
    </ListPage>
  );
}

const columns: Column<ScrapeSource>[] = [
  { id: 'source', header: 'Source', width: 180, cell: ({ source }) => <span className="cut">{source}</span> },
  {
    id: 'mode',
    header: 'How',
    width: 130,
    cell: ({ mode, kind }) => (mode === 'push' ? 'pushed' : `crawled (${kind})`),
  },
  {
    id: 'kb',
    header: 'Knowledge base',
    width: 180,
    cell: ({ kb_id }) => <span className="cut">{kb_id}</span>,
  },
  {
    id: 'run',
    header: 'Last run',
    width: 130,
    cell: ({ last_run }) =>
      last_run === null ? <span className="dim">none yet</span> : <StatusChip status={last_run.status} />,
  },
  {
    id: 'at',
    header: 'Since',
    width: 120,
    cell: ({ last_run }) => <Ago at={last_run?.finished_at ?? last_run?.started_at} />,
  },
  { id: 'url', header: 'Address', cell: ({ url }) => <span className="cut dim">{url ?? ''}</span> },
];

function NoSources({ q, button }: { q: string | undefined; button: React.ReactNode }) {
  if (q !== undefined) return <Empty sentence={`No source matches “${q}”.`} />;
  return (
    <Empty
      sentence="No source yet. Create one: your scraper pushes references, or Sluice crawls a site, sitemap or feed."
      sample={['handbook', 'crawled (website)', 'support', 'done', '240 references']}
      button={button}
      command={pushCommand('harbour', 'harbour')}
    />
  );
}
