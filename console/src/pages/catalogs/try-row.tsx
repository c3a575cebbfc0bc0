import { Button, NumberInput, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { api } from '../../api/client.ts';
import type { Catalog, CatalogMatches } from '../../api/types.ts';
import { Panel } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { StatusChip } from '../../parts/status-chip.tsx';
import { strategyWords } from './strategy-words.ts';

type Match = CatalogMatches['matches'][number];

/** One row, matched as a job would match it; nothing is stored. */
export function TryRow({ catalog }: { catalog: Catalog }) {
  const [row, setRow] = useState({ sku: '', brand: '', title: '' });
  const [threshold, setThreshold] = useState(0.6);
  const { name } = catalog;
  const { data, error, isPending, mutate } = useMutation({
    mutationFn: () => {
      const filled = Object.entries(row).filter(([, value]) => value.trim() !== '');
      const body = { rows: [Object.fromEntries(filled)], threshold };
      return api.post('/api/catalogs/{name}/match', { path: { name }, body });
    },
  });
  const isEmpty = Object.values(row).every((value) => value.trim() === '');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    mutate();
  };
  const field = (key: keyof typeof row, label: string) => (
    <TextInput
      label={label}
      value={row[key]}
      onChange={(event) => setRow({ ...row, [key]: event.currentTarget.value })}
    />
  );
  return (
    <Panel title="Try a row">
      <form className="stack" onSubmit={submit}>
        <div className="columns">
          {field('sku', 'SKU')}
          {field('brand', 'Brand')}
        </div>
        {field('title', 'Title')}
        <div className="row">
          <NumberInput
            label="How similar a title must be"
            w={230}
            min={0.1}
            max={1}
            step={0.05}
            decimalScale={2}
            value={threshold}
            onChange={(value) => setThreshold(Number(value))}
          />
          <Button type="submit" loading={isPending} disabled={isEmpty} className="catalog-try">
            Match row
          </Button>
        </div>
        {error === null ? null : <Problem error={error} />}
        <div aria-live="polite">
          {data?.matches[0] === undefined ? null : <Answer match={data.matches[0]} version={data.version} />}
        </div>
      </form>
    </Panel>
  );
}

function Answer({ match, version }: { match: Match; version: number }) {
  const { status, strategy, score, reason, product, candidates } = match;
  return (
    <div className="stack">
      <div className="row">
        <StatusChip status={status} />
        <span>
          {score === null ? reason : `${strategyWords[strategy]}, ${score} similar`}{' '}
          <span className="dim">in version {version}</span>
        </span>
      </div>
      {product === null ? null : <Product product={product} />}
      {candidates.length === 0 ? null : <Candidates candidates={candidates} />}
    </div>
  );
}

function Product({ product }: { product: Record<string, unknown> }) {
  return (
    <dl className="facts">
      {Object.entries(product)
        .slice(0, 20)
        .map(([column, value]) => (
          <div key={column} className="catalog-cell">
            <dt>{column}</dt>
            <dd className="catalog-words">
              {typeof value === 'object' ? JSON.stringify(value) : String(value)}
            </dd>
          </div>
        ))}
    </dl>
  );
}

function Candidates({ candidates }: { candidates: Match['candidates'] }) {
  return (
    <table className="catalog-candidates">
      <caption>Candidates</caption>
      <thead>
        <tr>
          <th scope="col">SKU</th>
          <th scope="col">Brand</th>
          <th scope="col">Title</th>
          <th scope="col" className="num">
            Similarity
          </th>
        </tr>
      </thead>
      <tbody>
        {candidates.map((one, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two of them may be the same in every word, which is the point
          <tr key={at}>
            <td>{one.sku}</td>
            <td>{one.brand}</td>
            <td>{one.title}</td>
            <td className="num">{one.score}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
