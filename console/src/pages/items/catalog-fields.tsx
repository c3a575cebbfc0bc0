import { Autocomplete, Checkbox, NumberInput, Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { To } from '../../parts/to.tsx';
import { problemAt } from './field-problem.ts';
import { type CatalogDraft, catalogStrategies } from './processor-options.ts';

interface CatalogFieldsProps {
  draft: CatalogDraft;
  /** Of the file, to choose from. */
  columns: readonly string[];
  error: unknown;
  onChange: (draft: CatalogDraft) => void;
}

const columnFields = [
  { field: 'sku', label: 'SKU column' },
  { field: 'brand', label: 'Brand column' },
  { field: 'title', label: 'Title column' },
] as const;

/** Which catalogue, by which columns, and in which ways. */
export function CatalogFields({ draft, columns, error, onChange }: CatalogFieldsProps) {
  const change = (changes: Partial<CatalogDraft>) => onChange({ ...draft, ...changes });
  return (
    <div className="stack">
      <div className="columns">
        <CatalogChoice
          value={draft.catalog}
          error={problemAt(error, '/options/catalog')}
          onChange={(catalog) => change({ catalog })}
        />
        {columnFields.map(({ field, label }) => (
          <Autocomplete
            key={field}
            label={label}
            description="Empty: detected by name"
            data={[...new Set(columns)]}
            value={draft[field]}
            error={problemAt(error, `/options/fields/${field}`)}
            onChange={(value) => change({ [field]: value })}
          />
        ))}
      </div>
      <div className="columns">
        <Checkbox.Group
          label="Tried in this order"
          value={draft.strategies}
          error={problemAt(error, '/options/strategies')}
          onChange={(names) =>
            change({
              strategies: catalogStrategies.map(({ name }) => name).filter((name) => names.includes(name)),
            })
          }
        >
          {catalogStrategies.map(({ name, label }) => (
            <Checkbox key={name} size="xs" mt={10} value={name} label={label} />
          ))}
        </Checkbox.Group>
        <NumberInput
          label="How similar a title must be"
          description="0.1 (anything) to 1 (the same letters); 0.6 is a good start"
          min={0.1}
          max={1}
          step={0.05}
          decimalScale={2}
          disabled={!draft.strategies.includes('fuzzy_title')}
          value={draft.threshold}
          error={problemAt(error, '/options/threshold')}
          onChange={(threshold) => change({ threshold: Number(threshold) })}
        />
      </div>
      <p className="dim small">
        A row that one way does not find is tried with the next. Two products that fit equally well are no
        match: the row ends as not found, with both as candidates.
      </p>
    </div>
  );
}

function CatalogChoice(props: {
  value: string;
  error: string | undefined;
  onChange: (name: string) => void;
}) {
  const { data, isPending } = useQuery({
    queryKey: ['catalogs', 'choice'],
    queryFn: ({ signal }) => api.get('/api/catalogs', { query: { limit: 200 }, signal }),
  });
  const names = data?.data.map(({ name }) => name) ?? [];
  return (
    <Select
      label="Catalogue"
      required
      description={
        data !== undefined && names.length === 0 ? (
          <>
            No catalogue yet: <To href="/catalogs">upload one first</To>
          </>
        ) : (
          'The products that rows are matched with'
        )
      }
      data={names}
      disabled={isPending}
      value={props.value === '' ? null : props.value}
      error={props.error}
      onChange={(name) => props.onChange(name ?? '')}
    />
  );
}
