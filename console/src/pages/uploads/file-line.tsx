import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { Upload } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { count } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { uploadSearch } from './search.ts';

/** The line that a figure led to, as it was read. */
export function FileLine({ upload }: { upload: Upload }) {
  const [{ line }] = useListState(uploadSearch);
  const { data, error, refetch } = useQuery({
    queryKey: ['uploads', 'line', upload.upload_id, line],
    queryFn: ({ signal }) =>
      api.get('/api/uploads/{upload_id}/rows', {
        path: { upload_id: upload.upload_id },
        query: { line: line ?? 1, limit: 10 },
        signal,
      }),
    enabled: line !== undefined,
  });
  if (line === undefined) return null;
  const cells = cellsOf(data?.data ?? []);
  return (
    <Panel title={`Line ${count(line)}`}>
      {error === null ? null : <Problem error={error} retry={() => void refetch()} />}
      {data === undefined && error === null ? <Skeleton height={60} /> : null}
      {data !== undefined && cells.length === 0 ? (
        <p>
          The rows of this upload are no longer kept in staging. Open the file and go to line {count(line)}.
        </p>
      ) : null}
      <dl className="file-line">
        {cells.map(([name, text]) => (
          <div key={name}>
            <dt className="dim small">{name}</dt>
            <dd className="num">{text}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}

/** What all entities of the line state, each name once; empty values are left out. */
function cellsOf(rows: readonly { entity_type: string; raw_data: Record<string, unknown> }[]) {
  const cells = new Map<string, string>();
  for (const { entity_type: entity, raw_data: raw } of rows) {
    for (const [name, value] of Object.entries(raw)) {
      if (value === null || value === '' || typeof value === 'boolean') continue;
      const isOwn = ['external_id', 'name', 'status', 'type'].includes(name);
      const title = isOwn ? `${entity} ${name}` : name;
      cells.set(title.replaceAll('_', ' '), typeof value === 'object' ? wordsOf(value) : String(value));
    }
  }
  return [...cells];
}

const wordsOf = (value: object) =>
  Object.entries(value)
    .map(([name, text]) => `${name}: ${text}`)
    .join(', ');
