import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import type { KnowledgePlan } from '../../api/types.ts';
import { count } from '../../parts/number.ts';
import { Problem } from '../../parts/problem.tsx';

/** What a run would do and cost; only on request, because it reads every document. */
export function PlanPreview({ kbId }: { kbId: string }) {
  const [isAsked, setAsked] = useState(false);
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
        onClick={() => (isAsked ? void refetch() : setAsked(true))}
      >
        Preview the next run
      </Button>
      {error === null || !isAsked ? null : <Problem error={error} retry={() => void refetch()} />}
      {data === undefined || !isAsked ? null : <Plan plan={data} />}
    </div>
  );
}

function Plan({ plan }: { plan: KnowledgePlan }) {
  const { documents } = plan;
  return (
    <p className="small" role="status">
      {count(documents.new)} new, {count(documents.changed)} changed, {count(documents.gone)} gone,{' '}
      {count(documents.unchanged)} unchanged documents: {count(plan.chunks)} passages to embed,{' '}
      {count(plan.tokens)} tokens
      {plan.cost > 0 ? `, about ${plan.cost.toFixed(4)} at the embedder’s price` : ', at no cost'}.
      {plan.is_complete ? '' : ' Not every document could be read in time, so this is a lower bound.'}
    </p>
  );
}
