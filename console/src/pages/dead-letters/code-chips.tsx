import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { codeWords } from '../../api/needs.ts';
import { Icon } from '../../parts/icons.tsx';
import { count } from '../../parts/number.ts';

export const letterCountsQuery = {
  queryKey: ['dead-letters', 'by-code'],
  queryFn: () => api.get('/api/stats/dead-letters'),
};

/** The reasons with their numbers; each is a filter. */
export function CodeChips({
  chosen,
  onChoose,
}: {
  chosen: string | undefined;
  onChoose: (code: string | undefined) => void;
}) {
  const codes = useQuery(letterCountsQuery).data?.data ?? [];
  if (codes.length === 0) return null;
  return (
    <fieldset className="code-chips">
      <legend className="dim small">By reason</legend>
      {codes.map(({ error_code, count: letters, requeued }) => (
        <button
          key={error_code}
          type="button"
          className="chip"
          data-tone="failed"
          aria-pressed={chosen === error_code}
          disabled={error_code === null}
          title={requeued === 0 ? 'none requeued yet' : `${count(requeued)} of them were requeued`}
          onClick={() => onChoose(chosen === error_code ? undefined : (error_code ?? undefined))}
        >
          <Icon name="xCircle" size={13} />
          <b>{count(letters)}</b> {codeWords(error_code)}
          {requeued === 0 ? null : <span> · {count(requeued)} requeued</span>}
        </button>
      ))}
    </fieldset>
  );
}
