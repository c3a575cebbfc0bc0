import { Button, Select, TextInput } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { api } from '../../api/client.ts';
import type { KnowledgeBase, KnowledgeResults } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { plural } from '../../parts/number.ts';
import { Problem } from '../../parts/problem.tsx';
import { CitedText } from './cited-text.tsx';
import { type KnowledgeBaseSearch, knowledgeBaseSearch } from './search.ts';
import { WhyMatched } from './why-matched.tsx';

const modes = [
  { value: 'hybrid', label: 'Meaning and words' },
  { value: 'vector', label: 'Meaning' },
  { value: 'text', label: 'Words' },
];

export function SearchPanel({ kb }: { kb: KnowledgeBase }) {
  const [{ q, mode = 'hybrid' }, change] = useListState(knowledgeBaseSearch);
  const [draft, setDraft] = useState(q ?? '');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change({ q: draft.trim() || undefined });
  };
  if (kb.generation === 0) {
    return <p className="dim">Search is available after the first run has ended.</p>;
  }
  return (
    <div className="stack">
      <form className="kb-search" aria-label="Search" onSubmit={submit}>
        <TextInput
          aria-label="Search this knowledge base"
          placeholder="Search this knowledge base"
          size="xs"
          value={draft}
          onChange={(event) => setDraft(event.currentTarget.value)}
          data-search
        />
        <Select
          aria-label="Search by"
          size="xs"
          w={170}
          data={modes}
          value={mode}
          allowDeselect={false}
          onChange={(value) => change({ mode: (value ?? 'hybrid') as KnowledgeBaseSearch['mode'] })}
        />
        <Button type="submit">Search</Button>
        {q === undefined ? null : (
          <Button
            variant="subtle"
            color="gray"
            onClick={() => {
              setDraft('');
              change({ q: undefined });
            }}
          >
            Clear
          </Button>
        )}
      </form>
      {kb.status === 'running' ? (
        <p className="dim small">A run is active. Until it ends, searches use the previous index.</p>
      ) : null}
      {q === undefined ? null : <Results kbId={kb.kb_id} query={q} mode={mode} />}
    </div>
  );
}

function Results({ kbId, query, mode }: { kbId: string; query: string; mode: KnowledgeBaseSearch['mode'] }) {
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['knowledge', 'search', kbId, query, mode],
    queryFn: ({ signal }) =>
      api.post('/api/knowledge/{kb_id}/search', {
        path: { kb_id: kbId },
        body: { query, mode, limit: 10, explain: true, sentences: mode !== 'text' },
        signal,
      }),
    placeholderData: keepPreviousData,
  });
  if (error !== null) return <Problem error={error} retry={() => void refetch()} />;
  if (isPending) return <p className="dim">Searching …</p>;
  if (data.results.length === 0) return <p>No passage matches “{query}”.</p>;
  return (
    <section aria-label="Passages found">
      {data.notes?.map((note) => (
        <p key={note} className="small" role="status">
          {note}
        </p>
      ))}
      <p className="dim small">{plural(data.results.length, 'passage')}, best first</p>
      <ol className="kb-results">
        {data.results.map((result) => (
          <Result key={`${result.document.document_id}-${result.start}`} result={result} />
        ))}
      </ol>
    </section>
  );
}

function Result({ result }: { result: KnowledgeResults['results'][number] }) {
  const [, change] = useListState(knowledgeBaseSearch);
  const { document, heading_path, score, link, passages } = result;
  const at = passages?.toSorted((one, other) => other.score - one.score)[0]?.start ?? result.start;
  return (
    <li className="kb-result">
      <header>
        <span>
          <b>{document.title}</b>{' '}
          <span className="dim">{heading_path.length === 0 ? '' : `› ${heading_path.join(' › ')}`}</span>
        </span>
        <span className="row">
          <span className="num dim" title="Relevance; comparable only within one search">
            {score.toFixed(3)}
          </span>
          <Button
            variant="subtle"
            size="compact-xs"
            onClick={() => change({ document: document.document_id, at: String(at) })}
          >
            Show in place
          </Button>
          {link.startsWith('http') ? (
            <a href={link} target="_blank" rel="noreferrer" className="small">
              Open the original
            </a>
          ) : null}
        </span>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard */}
      <p className="kb-text" tabIndex={0}>
        <CitedText found={result} />
      </p>
      <WhyMatched found={result} />
      {result.also_in === undefined ? null : (
        <p className="dim small">Also in {result.also_in.map((place) => place.document.title).join(', ')}</p>
      )}
    </li>
  );
}
