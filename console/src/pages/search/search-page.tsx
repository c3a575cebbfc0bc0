import { Button, Select, TextInput } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { api } from '../../api/client.ts';
import type { KnowledgeResultsOfAll } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { plural } from '../../parts/number.ts';
import { Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { To } from '../../parts/to.tsx';
import { CitedText } from '../knowledge/cited-text.tsx';
import { WhyMatched } from '../knowledge/why-matched.tsx';
import { Facets } from './facets.tsx';
import { searchEverywhere } from './search.ts';
import './search.css';

const modes = [
  { value: 'hybrid', label: 'Meaning and words' },
  { value: 'vector', label: 'Meaning' },
  { value: 'text', label: 'Words' },
];

export default function SearchPage() {
  const [{ q, mode = 'hybrid' }, change] = useListState(searchEverywhere);
  const [draft, setDraft] = useState(q ?? '');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change({ q: draft.trim() || undefined, base: undefined, format: undefined });
  };
  return (
    <Page
      title="Search"
      sentence="Passages of all knowledge bases that you may see, by meaning and by words."
    >
      <div className="stack">
        <form className="search-form" aria-label="Search" onSubmit={submit}>
          <TextInput
            aria-label="Search all knowledge bases"
            placeholder="Ask a question, or type words"
            value={draft}
            onChange={(event) => setDraft(event.currentTarget.value)}
            data-search
          />
          <Select
            aria-label="Search by"
            w={180}
            data={modes}
            value={mode}
            allowDeselect={false}
            onChange={(value) =>
              change({ mode: modes.find((one) => one.value === value)?.value as 'hybrid' })
            }
          />
          <Button type="submit">Search</Button>
        </form>
        {q === undefined ? null : <Results query={q} />}
      </div>
    </Page>
  );
}

function Results({ query }: { query: string }) {
  const [{ mode = 'hybrid', base, format }] = useListState(searchEverywhere);
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['knowledge', 'search-all', query, mode, base, format],
    queryFn: ({ signal }) =>
      api.post('/api/knowledge/search', {
        body: {
          query,
          mode,
          limit: 20,
          facets: [],
          ...(base === undefined ? {} : { kb_ids: [base] }),
          ...(format === undefined ? {} : { filter: { format } }),
        },
        signal,
      }),
    placeholderData: keepPreviousData,
  });
  if (error !== null) return <Problem error={error} retry={() => void refetch()} />;
  if (isPending) return <p className="dim">Searching …</p>;
  return (
    <div className="search-columns">
      <Facets facets={data.facets} />
      <section aria-label="Passages found">
        {data.notes.map((note) => (
          <p key={note} className="dim small">
            {note}
          </p>
        ))}
        <p className="dim small">
          {data.results.length === 0 ? `No passage matches “${query}”.` : bestFirst(data.results.length)}
        </p>
        <ol className="search-results">
          {data.results.map((result) => (
            <Result key={`${result.document.document_id}-${result.start}`} result={result} query={query} />
          ))}
        </ol>
      </section>
    </div>
  );
}

function bestFirst(count: number): string {
  return `${plural(count, 'passage')}, best first`;
}

function Result({ result, query }: { result: KnowledgeResultsOfAll['results'][number]; query: string }) {
  const { base, document, heading_path, score, passages } = result;
  const start = passages?.toSorted((one, other) => other.score - one.score)[0]?.start ?? result.start;
  const place = new URLSearchParams({ q: query, document: document.document_id, at: String(start) });
  return (
    <li className="search-result">
      <header>
        <span>
          <To href={`/knowledge/${encodeURIComponent(base.kb_id)}?${place}`}>{document.title}</To>{' '}
          <span className="dim">{heading_path.length === 0 ? '' : `› ${heading_path.join(' › ')}`}</span>
        </span>
        <span className="num dim" title="Relevance; comparable only within one search">
          {score.toFixed(3)}
        </span>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard */}
      <p className="search-text" tabIndex={0}>
        <CitedText found={result} />
      </p>
      <WhyMatched found={result} />
      <p className="dim small">{base.name}</p>
    </li>
  );
}
