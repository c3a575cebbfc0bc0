import { Button, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { api } from '../../api/client.ts';
import { useAction } from '../../parts/action.ts';
import { cellText } from './exact-json.ts';

interface CorrectableProps {
  jobId: string;
  itemId: string;
  column: string;
  value: unknown;
}

/** A value of a row that can be corrected in place; the row then runs again. */
export function Correctable({ jobId, itemId, column, value }: CorrectableProps) {
  const [draft, setDraft] = useState<string | null>(null);
  const { run, isRunning } = useAction<unknown, string>({
    run: (text) =>
      api.patch('/api/jobs/{job_id}/items/{item_id}', {
        path: { job_id: jobId, item_id: Number(itemId) },
        body: { column, value: text },
      }),
    done: () => `${column} was corrected; the row runs again.`,
    touches: ['items', 'pending', 'jobs', 'overview', 'stats'],
    afterwards: () => setDraft(null),
  });
  const text = value === null ? '' : cellText(value);
  if (draft === null) {
    return (
      <span className="correctable">
        <span>{value === null ? <span className="dim">null</span> : text}</span>
        <Button
          variant="subtle"
          size="compact-xs"
          aria-label={`Correct ${column}`}
          onClick={() => setDraft(text)}
        >
          Correct
        </Button>
      </span>
    );
  }
  const submit = (event: FormEvent) => {
    event.preventDefault();
    run(draft);
  };
  return (
    <form className="correctable" onSubmit={submit}>
      <TextInput
        aria-label={`New value of ${column}`}
        autoFocus
        value={draft}
        onChange={(event) => setDraft(event.currentTarget.value)}
      />
      <Button type="submit" size="xs" loading={isRunning}>
        Save and run again
      </Button>
      <Button variant="default" size="xs" onClick={() => setDraft(null)}>
        Cancel
      </Button>
    </form>
  );
}
