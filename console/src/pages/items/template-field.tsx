import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { ItemTemplate } from '../../api/types.ts';
import { Panel } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import type { NewItems } from './send-items.ts';

const queryKey = ['item-templates'];

interface TemplateFieldProps {
  /** What would be sent now. */
  items: NewItems;
  isIncomplete: boolean;
  onChoose: (template: ItemTemplate) => void;
}

/** Takes a saved template over, and saves what was chosen as one. Nothing without templates and the right to save. */
export function TemplateField({ items, isIncomplete, onChoose }: TemplateFieldProps) {
  const maySave = useCan('item.templates');
  const [chosen, setChosen] = useState('');
  const { data, error } = useQuery({
    queryKey,
    queryFn: ({ signal }) => api.get('/api/items/templates', { signal }),
  });
  const templates = data?.data ?? [];
  if (templates.length === 0 && !maySave && error === null) return null;
  const choose = (name: string) => {
    setChosen(name);
    const template = templates.find((one) => one.name === name);
    if (template !== undefined) onChoose(template);
  };
  return (
    <Panel title="Template">
      <div className="stack">
        {error === null ? null : <Problem error={error} />}
        {templates.length === 0 ? null : (
          <NativeSelect
            label="Use a saved template"
            description="Takes its processor, options and mapping over; you can change them."
            value={chosen}
            data={[
              { value: '', label: 'None' },
              ...templates.map(({ name }) => ({ value: name, label: name })),
            ]}
            onChange={({ currentTarget: { value } }) => choose(value)}
          />
        )}
        {maySave ? <SaveTemplate key={chosen} items={items} name={chosen} isDisabled={isIncomplete} /> : null}
      </div>
    </Panel>
  );
}

function SaveTemplate({
  items,
  name: before,
  isDisabled,
}: {
  items: NewItems;
  name: string;
  isDisabled: boolean;
}) {
  const client = useQueryClient();
  const [name, setName] = useState(before);
  const saving = useMutation({
    mutationFn: () =>
      api.put('/api/items/templates/{name}', {
        path: { name: name.trim() },
        body: {
          processor: items.processor,
          options: JSON.parse(items.options) as Record<string, unknown>,
          mapping:
            items.mapping === null ? null : (JSON.parse(items.mapping) as Record<string, string | null>),
        },
      }),
    onSuccess: () => client.invalidateQueries({ queryKey }),
  });
  return (
    <>
      <div className="row">
        <TextInput
          aria-label="Name of the template"
          placeholder="Name of the template"
          size="xs"
          maxLength={64}
          value={name}
          onChange={({ currentTarget: { value } }) => setName(value)}
        />
        <Button
          variant="default"
          size="xs"
          loading={saving.isPending}
          disabled={isDisabled || name.trim() === ''}
          onClick={() => saving.mutate()}
        >
          Save as template
        </Button>
        {saving.isSuccess ? <span className="dim small">Saved.</span> : null}
      </div>
      {saving.error === null ? null : <Problem error={saving.error} />}
    </>
  );
}

/** Of a template's mapping, what the chosen file has. */
export function mappingFor(
  { mapping }: Pick<ItemTemplate, 'mapping'>,
  columns: readonly string[],
): Record<string, string | null> {
  return Object.fromEntries(Object.entries(mapping ?? {}).filter(([from]) => columns.includes(from)));
}
