import { NumberInput, Select, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import type { ScrapeSource } from '../../api/types.ts';
import { FormDialog, messageAt } from '../../parts/form-dialog.tsx';
import { useGo } from '../../parts/to.tsx';

interface Draft {
  source: string;
  mode: 'push' | 'crawl';
  kbId: string | null;
  url: string;
  kind: 'website' | 'sitemap' | 'feed';
  maxPages: number | null;
  everyHours: number | null;
  include: string;
  exclude: string;
}

/** Without a source: a new one. */
export function SourceDialog({ source, onClose }: { source: ScrapeSource | null; onClose: () => void }) {
  const go = useGo();
  const [draft, setDraft] = useState(() => draftOf(source));
  const change = (changes: Partial<Draft>) => setDraft((before) => ({ ...before, ...changes }));
  const isReady =
    draft.source.trim() !== '' && draft.kbId !== null && (draft.mode === 'push' || draft.url.trim() !== '');
  return (
    <FormDialog
      title={source === null ? 'New scrape source' : `Change ${source.source}`}
      isOpen
      onClose={onClose}
      action={source === null ? 'Create source' : 'Save changes'}
      isReady={isReady}
      send={() =>
        api.put('/api/scraping/sources/{source}', {
          path: { source: draft.source.trim() },
          body: bodyOf(draft),
        })
      }
      done={(saved) => `Saved ${saved.source}.`}
      touches={['scrapes']}
      afterwards={(saved) => go(`/scrapes/${encodeURIComponent(saved.source)}`)}
    >
      {(error) => (
        <>
          <TextInput
            label="Name"
            required
            disabled={source !== null}
            value={draft.source}
            error={messageAt(error, 'source')}
            onChange={(event) => change({ source: event.currentTarget.value })}
            data-autofocus
          />
          <KnowledgeChoice
            value={draft.kbId}
            onChange={(kbId) => change({ kbId })}
            error={messageAt(error, 'kb_id')}
          />
          <Select
            label="How references come"
            data={[
              { value: 'push', label: 'Your scraper pushes them' },
              { value: 'crawl', label: 'Sluice crawls them' },
            ]}
            value={draft.mode}
            allowDeselect={false}
            onChange={(mode) => change({ mode: mode === 'crawl' ? 'crawl' : 'push' })}
          />
          {draft.mode === 'crawl' ? <CrawlFields draft={draft} change={change} error={error} /> : null}
        </>
      )}
    </FormDialog>
  );
}

function KnowledgeChoice(props: {
  value: string | null;
  onChange: (kbId: string | null) => void;
  error: string | undefined;
}) {
  const { data, isPending } = useQuery({
    queryKey: ['knowledge', 'choices'],
    queryFn: ({ signal }) => api.get('/api/knowledge', { query: { limit: 200 }, signal }),
  });
  return (
    <Select
      label="Knowledge base"
      description={
        data?.data.length === 0
          ? 'No knowledge base yet: create one under Knowledge first.'
          : 'It gets the references.'
      }
      required
      searchable
      disabled={isPending}
      data={data?.data.map(({ kb_id, name }) => ({ value: kb_id, label: name })) ?? []}
      value={props.value}
      error={props.error}
      onChange={props.onChange}
    />
  );
}

function CrawlFields({
  draft,
  change,
  error,
}: {
  draft: Draft;
  change: (changes: Partial<Draft>) => void;
  error: unknown;
}) {
  return (
    <>
      <TextInput
        label="Address"
        type="url"
        required
        placeholder="https://example.com/docs/"
        value={draft.url}
        error={messageAt(error, 'url')}
        onChange={(event) => change({ url: event.currentTarget.value })}
      />
      <Select
        label="What is there"
        data={[
          { value: 'website', label: 'A website: follow its links' },
          { value: 'sitemap', label: 'A sitemap: the pages it lists' },
          { value: 'feed', label: 'A feed (RSS, Atom or JSON Feed): its entries' },
        ]}
        value={draft.kind}
        allowDeselect={false}
        onChange={(kind) => change({ kind: (kind ?? 'website') as Draft['kind'] })}
      />
      <NumberInput
        label="Crawl every … hours"
        description="Empty: only when somebody starts it."
        min={1}
        max={8760}
        value={draft.everyHours ?? ''}
        error={messageAt(error, 'every_hours')}
        onChange={(value) => change({ everyHours: typeof value === 'number' ? value : null })}
      />
      <NumberInput
        label="Pages at most"
        min={1}
        value={draft.maxPages ?? ''}
        error={messageAt(error, 'max_pages')}
        onChange={(value) => change({ maxPages: typeof value === 'number' ? value : null })}
      />
      <TextInput
        label="Only paths that begin with"
        description="Separated by commas; empty: the whole site."
        placeholder="/docs, /guides"
        value={draft.include}
        error={messageAt(error, 'include')}
        onChange={(event) => change({ include: event.currentTarget.value })}
      />
      <TextInput
        label="Not paths that begin with"
        placeholder="/docs/archive"
        value={draft.exclude}
        error={messageAt(error, 'exclude')}
        onChange={(event) => change({ exclude: event.currentTarget.value })}
      />
    </>
  );
}

function draftOf(source: ScrapeSource | null): Draft {
  return {
    source: source?.source ?? '',
    mode: source?.mode ?? 'push',
    kbId: source?.kb_id ?? null,
    url: source?.url ?? '',
    kind: source?.kind ?? 'website',
    maxPages: source?.max_pages ?? null,
    everyHours: source?.every_hours ?? null,
    include: source?.include.join(', ') ?? '',
    exclude: source?.exclude.join(', ') ?? '',
  };
}

function bodyOf(draft: Draft) {
  const kb_id = draft.kbId ?? '';
  if (draft.mode === 'push') return { mode: 'push' as const, kb_id };
  return {
    mode: 'crawl' as const,
    kb_id,
    url: draft.url.trim(),
    kind: draft.kind,
    every_hours: draft.everyHours,
    ...(draft.maxPages === null ? {} : { max_pages: draft.maxPages }),
    ...listed('include', draft.include),
    ...listed('exclude', draft.exclude),
  };
}

function listed(name: 'include' | 'exclude', text: string): Partial<Record<'include' | 'exclude', string[]>> {
  const paths = text.split(',').map((path) => path.trim());
  const given = paths.filter((path) => path !== '');
  return given.length === 0 ? {} : { [name]: given };
}
