import { Autocomplete, NumberInput, Select, Switch, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { workspacesQuery } from '../../api/queries.ts';
import type { Adapter } from '../../api/types.ts';
import { FormDialog, messageAt } from '../../parts/form-dialog.tsx';
import { useGo } from '../../parts/to.tsx';
import { type AdapterDraft, bodyOf, draftOf, type FieldsProps, isReady, optionsOf } from './adapter-draft.ts';
import { PlaceFields } from './place-fields.tsx';

/** Without an adapter: a new one. */
export function AdapterDialog({ adapter, onClose }: { adapter: Adapter | null; onClose: () => void }) {
  const go = useGo();
  const [draft, setDraft] = useState(() => draftOf(adapter));
  const change = (changes: Partial<AdapterDraft>) => setDraft((before) => ({ ...before, ...changes }));
  return (
    <FormDialog
      title={adapter === null ? 'New adapter' : `Change ${adapter.name}`}
      isOpen
      onClose={onClose}
      action={adapter === null ? 'Create adapter' : 'Save changes'}
      isReady={isReady(draft)}
      send={() =>
        api.put('/api/ingestion/adapters/{name}', {
          path: { name: draft.name.trim() },
          body: bodyOf(draft),
        })
      }
      done={(saved) => `Saved ${saved.name}.`}
      touches={['adapters']}
      afterwards={(saved) => go(`/adapters/${encodeURIComponent(saved.name)}`)}
    >
      {(error) => (
        <>
          <TextInput
            label="Name"
            required
            disabled={adapter !== null}
            value={draft.name}
            error={messageAt(error, 'name')}
            onChange={(event) => change({ name: event.currentTarget.value })}
            data-autofocus
          />
          <PlaceFields draft={draft} change={change} error={error} />
          <TargetFields draft={draft} change={change} error={error} />
          <ScanFields draft={draft} change={change} error={error} />
        </>
      )}
    </FormDialog>
  );
}

function TargetFields(props: FieldsProps) {
  const { draft, change } = props;
  return (
    <>
      <Select
        label="What a file becomes"
        data={[
          { value: 'items', label: 'An item job: its rows are processed' },
          { value: 'uploads', label: 'An upload: an ad report is promoted' },
        ]}
        value={draft.target}
        allowDeselect={false}
        onChange={(value) => change({ target: value === 'uploads' ? 'uploads' : 'items' })}
      />
      {draft.target === 'items' ? <ItemsFields {...props} /> : <UploadsFields {...props} />}
    </>
  );
}

function ItemsFields({ draft, change, error }: FieldsProps) {
  const isWrong = optionsOf(draft.options) === null;
  return (
    <>
      <Autocomplete
        label="Processor"
        description="Empty: the default for the kind of each file."
        data={['noop', 'validate', 'http', 'catalog', 'image']}
        value={draft.processor}
        error={messageAt(error, 'processor')}
        onChange={(processor) => change({ processor })}
      />
      <Textarea
        label="Processor options"
        description="JSON, as in POST /api/jobs."
        autosize
        minRows={2}
        maxRows={10}
        value={draft.options}
        error={isWrong ? 'must be a JSON object' : messageAt(error, 'options')}
        onChange={(event) => change({ options: event.currentTarget.value })}
      />
    </>
  );
}

function UploadsFields({ draft, change, error }: FieldsProps) {
  const { data } = useQuery(workspacesQuery);
  return (
    <>
      <Select
        label="Platform"
        data={[
          { value: 'meta', label: 'Meta' },
          { value: 'google', label: 'Google' },
          { value: 'tiktok', label: 'TikTok' },
        ]}
        value={draft.platform}
        allowDeselect={false}
        onChange={(value) => change({ platform: (value ?? 'meta') as AdapterDraft['platform'] })}
      />
      <Select
        label="Workspace"
        required
        data={data?.data.map(({ workspace_id, name }) => ({ value: workspace_id, label: name })) ?? []}
        value={draft.workspaceId}
        error={messageAt(error, 'workspace_id')}
        onChange={(workspaceId) => change({ workspaceId })}
      />
    </>
  );
}

function ScanFields({ draft, change, error }: FieldsProps) {
  return (
    <>
      <TextInput
        label="Only file names that match"
        placeholder="*.csv"
        description="* matches anything; empty: all files."
        value={draft.pattern}
        error={messageAt(error, 'pattern')}
        onChange={(event) => change({ pattern: event.currentTarget.value })}
      />
      <NumberInput
        label="Scan every … minutes"
        description="Empty: only by hand."
        min={1}
        max={44_640}
        value={draft.everyMinutes ?? ''}
        error={messageAt(error, 'every_minutes')}
        onChange={(value) => change({ everyMinutes: typeof value === 'number' ? value : null })}
      />
      {draft.kind === 's3' ? null : (
        <NumberInput
          label="Seconds without a change before a file is read"
          description="A file that changed recently may still be incomplete."
          min={0}
          max={86_400}
          value={draft.settleSeconds}
          error={messageAt(error, 'settle_seconds')}
          onChange={(value) => change({ settleSeconds: typeof value === 'number' ? value : 10 })}
        />
      )}
      <Switch
        label="Move processed files to done/ or failed/"
        checked={draft.after === 'move'}
        onChange={(event) => change({ after: event.currentTarget.checked ? 'move' : 'leave' })}
      />
    </>
  );
}
