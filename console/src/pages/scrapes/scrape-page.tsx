import { Button, Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { ScrapeSource } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { useAction } from '../../parts/action.ts';
import { Command } from '../../parts/command.tsx';
import { confirm } from '../../parts/confirm.tsx';
import { Page, Panel, UnreadPage } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago } from '../../parts/time.tsx';
import { To, useGo } from '../../parts/to.tsx';
import { Handoffs } from './handoffs.tsx';
import { References } from './references.tsx';
import { Runs } from './runs.tsx';
import { type ScrapeSearch, scrapeSearch } from './search.ts';
import { SourceDialog } from './source-dialog.tsx';

const breadcrumbs = [{ label: 'Scrapes', to: '/scrapes' }];

export default function ScrapePage() {
  const { source: name = '' } = useParams({ strict: false });
  const {
    data: source,
    error,
    refetch,
  } = useQuery({
    queryKey: ['scrapes', 'one', name],
    queryFn: ({ signal }) => api.get('/api/scraping/sources/{source}', { path: { source: name }, signal }),
  });
  if (source === undefined)
    return <UnreadPage title={name} breadcrumbs={breadcrumbs} error={error} retry={() => void refetch()} />;
  return (
    <Page
      title={source.source}
      breadcrumbs={breadcrumbs}
      state={
        source.last_run === null ? (
          <StatusChip status="not_started" />
        ) : (
          <StatusChip status={source.last_run.status} />
        )
      }
      actions={<SourceActions source={source} />}
      sentence={<About source={source} />}
    >
      {error === null ? null : <Problem error={error} retry={() => void refetch()} isStale />}
      {source.mode === 'push' ? <HowToPush source={source.source} /> : null}
      <SourceTabs source={source.source} />
    </Page>
  );
}

function About({ source }: { source: ScrapeSource }) {
  return (
    <>
      {source.mode === 'push' ? 'Pushed by a scraper' : `Crawled: ${source.kind} at ${source.url}`}, handed
      over to <To href={`/knowledge/${encodeURIComponent(source.kb_id)}`}>{source.kb_id}</To>.
      {source.next_crawl_at === null ? null : (
        <>
          {' '}
          Next crawl: <Ago at={source.next_crawl_at} /> (every {source.every_hours} h).
        </>
      )}
    </>
  );
}

function SourceTabs({ source }: { source: string }) {
  const [{ tab = 'runs' }, change] = useListState(scrapeSearch);
  return (
    <Tabs
      value={tab}
      keepMounted={false}
      onChange={(value) =>
        change({ tab: (value ?? 'runs') as ScrapeSearch['tab'], status: undefined, run: undefined })
      }
    >
      <Tabs.List>
        <Tabs.Tab value="runs">Runs</Tabs.Tab>
        <Tabs.Tab value="handoffs">Hand-offs</Tabs.Tab>
        <Tabs.Tab value="references">References</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="runs" pt="md">
        <Runs source={source} />
      </Tabs.Panel>
      <Tabs.Panel value="handoffs" pt="md">
        <Handoffs source={source} />
      </Tabs.Panel>
      <Tabs.Panel value="references" pt="md">
        <References source={source} />
      </Tabs.Panel>
    </Tabs>
  );
}

function SourceActions({ source }: { source: ScrapeSource }) {
  const [isEditing, setEditing] = useState(false);
  const mayManage = useCan('scrape.manage');
  const maySync = useCan('scrape.sync');
  const sync = useAction({
    run: () => api.post('/api/scraping/{source}/sync', { path: { source: source.source } }),
    done: () => `The crawl of ${source.source} has started.`,
    touches: ['scrapes', 'jobs'],
  });
  const remove = useRemoval(source.source);
  return (
    <>
      {source.mode === 'crawl' ? (
        <Button
          disabled={!maySync}
          title={maySync ? '' : 'Only admins of the tenant can start crawls.'}
          loading={sync.isRunning}
          onClick={() => sync.run()}
        >
          Crawl now
        </Button>
      ) : null}
      {mayManage ? (
        <>
          <Button variant="default" onClick={() => setEditing(true)}>
            Change
          </Button>
          <Button variant="default" color="red" onClick={() => void remove()}>
            Delete
          </Button>
        </>
      ) : null}
      {isEditing ? <SourceDialog source={source} onClose={() => setEditing(false)} /> : null}
    </>
  );
}

function useRemoval(source: string) {
  const go = useGo();
  const { run } = useAction({
    run: () => api.delete('/api/scraping/sources/{source}', { path: { source } }),
    done: () => `Deleted ${source}. Its runs stay as history.`,
    touches: ['scrapes'],
    afterwards: () => go('/scrapes'),
  });
  return async () => {
    const consequence =
      'Its references and hand-offs are deleted too. Indexed passages stay in the knowledge base.';
    if (await confirm({ title: `Delete ${source}?`, consequence, action: 'Delete source', isDanger: true }))
      run();
  };
}

function HowToPush({ source }: { source: string }) {
  const address = `${location.origin}/api/scraping/${encodeURIComponent(source)}/sync`;
  const reference = '{"external_id":"page-1","url":"https://example.com/1","title":"One","content":"# One"}';
  const line = [
    `curl -X POST ${address}`,
    '-H "authorization: Bearer $TOKEN" -H "content-type: application/json"',
    `-d '{"references":[${reference}]}'`,
  ].join(' ');
  return (
    <Panel title="Push references">
      <Command line={line} />
      <p className="dim small">The same external_id with the same content again changes nothing.</p>
    </Panel>
  );
}
