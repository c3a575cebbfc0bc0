import { NumberInput, Select, Switch, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { workspacesQuery } from '../../api/queries.ts';
import type { Paths, UploadSource } from '../../api/types.ts';
import { FormDialog, messageAt } from '../../parts/form-dialog.tsx';
import { SecretField } from '../../parts/secret-field.tsx';
import { browserZone } from '../connectors/schedule-fields.tsx';
import { usePlatformChoices } from '../uploads/platforms.ts';
import {
  isOfAnyPlatform,
  isPlaceReady,
  kindTitles,
  type PlaceDraft,
  type PlaceField,
  placeDraftOf,
  placeFields,
  placeOf,
  type SourceKind,
} from './place-forms.ts';

type NewSource = Paths['/api/uploads/sources']['post']['body'];
type Change = Paths['/api/uploads/sources/{source_id}']['patch']['body'];

interface Draft {
  name: string;
  kind: SourceKind;
  place: PlaceDraft;
  platform: string | null;
  workspaceId: string | null;
  restateDays: number;
  cron: string;
  timeZone: string;
  enabled: boolean;
}

function draftOf(source: UploadSource | null): Draft {
  const kind = source?.place.kind ?? 'meta';
  return {
    name: source?.name ?? '',
    kind,
    place: placeDraftOf(kind, source?.place ?? null),
    platform: source?.platform ?? null,
    workspaceId: source?.workspace_id ?? null,
    restateDays: source?.restate_days ?? 28,
    cron: source === null ? '0 6 * * *' : (source.cron ?? ''),
    timeZone: source?.time_zone ?? browserZone(),
    enabled: source?.enabled ?? true,
  };
}

interface FieldsProps {
  draft: Draft;
  change: (changes: Partial<Draft>) => void;
  error: unknown;
  isNew: boolean;
}

interface SourceDialogProps {
  /** Null: a new one. */
  source: UploadSource | null;
  onClose: () => void;
  onSaved: (id: string) => void;
}

export function SourceDialog({ source, onClose, onSaved }: SourceDialogProps) {
  const [draft, setDraft] = useState(() => draftOf(source));
  const change = (changes: Partial<Draft>) => setDraft((before) => ({ ...before, ...changes }));
  const isNew = source === null;
  const needsPlatform = isNew && isOfAnyPlatform(draft.kind) && draft.platform === null;
  return (
    <FormDialog
      title={isNew ? 'New source' : `Change ${source.name}`}
      isOpen
      onClose={onClose}
      action={isNew ? 'Create source' : 'Save changes'}
      isReady={
        draft.name.trim() !== '' &&
        draft.workspaceId !== null &&
        !needsPlatform &&
        isPlaceReady(draft.kind, draft.place)
      }
      send={() => send(source, draft)}
      done={(saved) => `Saved ${saved.name}.`}
      touches={['uploads']}
      afterwards={(saved) => onSaved(saved.source_id)}
    >
      {(error) => (
        <>
          <TextInput
            label="Name"
            required
            value={draft.name}
            error={messageAt(error, 'name')}
            onChange={(event) => change({ name: event.currentTarget.value })}
            data-autofocus
          />
          <PlaceFields draft={draft} change={change} error={error} isNew={isNew} />
          <TargetFields draft={draft} change={change} error={error} isNew={isNew} />
          <TimeFields draft={draft} change={change} error={error} isNew={isNew} />
        </>
      )}
    </FormDialog>
  );
}

function send(source: UploadSource | null, draft: Draft): Promise<UploadSource> {
  const shared = {
    name: draft.name.trim(),
    place: placeOf(draft.kind, draft.place, source?.place ?? null) as NewSource['place'],
    restate_days: draft.restateDays,
    enabled: draft.enabled,
    cron: draft.cron.trim() === '' ? null : draft.cron.trim(),
    time_zone: draft.timeZone.trim(),
  };
  if (source !== null) {
    return api.patch('/api/uploads/sources/{source_id}', {
      path: { source_id: source.source_id },
      body: shared satisfies Change,
    });
  }
  const platform = isOfAnyPlatform(draft.kind) && draft.platform !== null ? { platform: draft.platform } : {};
  return api.post('/api/uploads/sources', {
    body: { ...shared, ...platform, workspace_id: draft.workspaceId ?? '' },
  });
}

function PlaceFields({ draft, change, error, isNew }: FieldsProps) {
  const { kind, place } = draft;
  return (
    <>
      <Select
        label="Pull from"
        data={Object.entries(kindTitles).map(([value, label]) => ({ value, label }))}
        value={kind}
        disabled={!isNew}
        allowDeselect={false}
        onChange={(value) => {
          const next = (value ?? 'meta') as SourceKind;
          change({ kind: next, place: placeDraftOf(next, null) });
        }}
      />
      {placeFields[kind].map((field) => (
        <OneField
          key={`${kind} ${field.name}`}
          field={field}
          kind={kind}
          value={place[field.name] ?? ''}
          error={messageAt(error, field.name)}
          onChange={(value) => change({ place: { ...place, [field.name]: value } })}
        />
      ))}
    </>
  );
}

interface OneFieldProps {
  field: PlaceField;
  kind: SourceKind;
  value: string | boolean;
  error: string | undefined;
  onChange: (value: string | boolean) => void;
}

function OneField({ field, kind, value, error, onChange }: OneFieldProps) {
  const { label, description, type, isRequired = false } = field;
  if (type === 'switch') {
    return (
      <Switch
        label={label}
        checked={value === true}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    );
  }
  if (type === 'secret') {
    return (
      <SecretField
        label={label}
        description={description ?? 'The name of a stored secret (Settings, Secrets).'}
        use={kind === 's3' || kind === 'ftp' ? `adapter:${kind}` : `source:${kind}`}
        value={String(value)}
        required={isRequired}
        error={error}
        onChange={onChange}
      />
    );
  }
  if (type !== undefined) {
    return (
      <Select
        label={label}
        data={type.map((each) => ({ value: each, label: each.replace('_', ' ') }))}
        value={String(value)}
        allowDeselect={false}
        onChange={(chosen) => onChange(chosen ?? '')}
      />
    );
  }
  return (
    <TextInput
      label={label}
      description={description}
      required={isRequired}
      value={String(value)}
      error={error}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

function TargetFields({ draft, change, error, isNew }: FieldsProps) {
  const { data } = useQuery(workspacesQuery);
  const platforms = usePlatformChoices();
  const workspaces = data?.data ?? [];
  const [only] = workspaces;
  if (isNew && draft.workspaceId === null && workspaces.length === 1 && only !== undefined) {
    change({ workspaceId: only.workspace_id });
  }
  return (
    <>
      {isOfAnyPlatform(draft.kind) ? (
        <Select
          label="Platform"
          description="How the reports are read."
          required
          disabled={!isNew}
          data={platforms}
          value={draft.platform}
          error={messageAt(error, 'platform')}
          onChange={(platform) => change({ platform })}
        />
      ) : null}
      {workspaces.length > 1 || !isNew ? (
        <Select
          label="Workspace"
          required
          disabled={!isNew}
          data={workspaces.map(({ workspace_id: value, name: label }) => ({ value, label }))}
          value={draft.workspaceId}
          error={messageAt(error, 'workspace_id')}
          onChange={(workspaceId) => change({ workspaceId })}
        />
      ) : null}
    </>
  );
}

function TimeFields({ draft, change, error }: FieldsProps) {
  return (
    <>
      <NumberInput
        label="Days to ask for again"
        description="Each pull asks for so many days up to yesterday: late conversions replace earlier figures."
        min={1}
        max={180}
        value={draft.restateDays}
        error={messageAt(error, 'restate_days')}
        onChange={(value) => change({ restateDays: typeof value === 'number' ? value : 28 })}
      />
      <TextInput
        label="Pulled at (cron)"
        description="Minute, hour, day of month, month, day of week. Empty: as often as the plan allows."
        value={draft.cron}
        error={messageAt(error, 'cron')}
        onChange={(event) => change({ cron: event.currentTarget.value })}
      />
      <TextInput
        label="Time zone of the account"
        description="It decides which day is yesterday."
        required
        value={draft.timeZone}
        error={messageAt(error, 'time_zone')}
        onChange={(event) => change({ timeZone: event.currentTarget.value })}
      />
      <Switch
        label="Pull by this schedule"
        checked={draft.enabled}
        onChange={(event) => change({ enabled: event.currentTarget.checked })}
      />
    </>
  );
}
