import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import type { KnowledgePlan } from '../../api/types.ts';
import { count, plural } from '../../parts/number.ts';
import { Problem } from '../../parts/problem.tsx';

/** Sources that are read within moments, and without asking anybody else. */
const nearSources = new Set(['files', 'markdown', 'text', 'html']);
const fewDocuments = 2_000;

/** What a run would do and cost. Reading a website or a large base for it takes a while: then only on request. */
export function PlanPreview({ kbId }: { kbId: string }) {
  const [isWanted, setWanted] = useState(false);
  const isNear = useIsNear(kbId);
  const isAsked = isWanted || isNear;
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ['knowledge', 'plan', kbId],
    queryFn: ({ signal }) => api.get('/api/knowledge/{kb_id}/plan', { path: { kb_id: kbId }, signal }),
    enabled: isAsked,
    staleTime: 60_000,
  });
  return (
    <div className="stack">
      <Button
        variant="subtle"
        loading={isFetching}
        onClick={() => (isAsked ? void refetch() : setWanted(true))}
      >
        {isAsked ? 'Look again' : 'Preview the next run'}
      </Button>
      {error === null || !isAsked ? null : <Problem error={error} retry={() => void refetch()} />}
      {data === undefined || !isAsked ? null : <Plan plan={data} />}
    </div>
  );
}

function useIsNear(kbId: string): boolean {
  const sources = useQuery({
    queryKey: ['knowledge', 'sources', kbId, 'types'],
    queryFn: ({ signal }) =>
      api.get('/api/knowledge/{kb_id}/sources', { path: { kb_id: kbId }, query: { limit: 100 }, signal }),
  });
  const kb = useQuery({
    queryKey: ['knowledge', 'one', kbId],
    queryFn: ({ signal }) => api.get('/api/knowledge/{kb_id}', { path: { kb_id: kbId }, signal }),
  });
  const list = sources.data;
  if (list === undefined || kb.data === undefined || list.next_cursor !== null) return false;
  const documents = Object.values(kb.data.documents ?? {}).reduce((sum, some) => sum + some, 0);
  return documents <= fewDocuments && list.data.every(({ type }) => nearSources.has(type));
}

function Plan({ plan }: { plan: KnowledgePlan }) {
  const { documents } = plan;
  return (
    <p className="small" role="status" aria-label="What a run would do">
      The next run: {count(documents.new)} new, {count(documents.changed)} changed, {count(documents.gone)}{' '}
      gone, {count(documents.unchanged)} unchanged documents: {plural(plan.chunks, 'passage')} to embed,{' '}
      {plural(plan.tokens, 'token')}
      {plan.cost > 0 ? `, about ${plan.cost.toFixed(4)} at the embedder’s price` : ', at no cost'}.
      {plan.is_complete ? '' : ' Not every document could be read in time, so this is a lower bound.'}
    </p>
  );
}
