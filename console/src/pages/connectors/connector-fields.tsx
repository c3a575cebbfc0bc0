import { Select, Stack, Switch, TextInput } from '@mantine/core';
import { messageAt } from '../../parts/form-dialog.tsx';
import { browserZone, ScheduleFields, scheduleOf } from './schedule-fields.tsx';

export interface ConnectorDraft {
  name: string;
  externalAccountId: string;
  cadenceHours: number | null;
  /** Instead of a cadence; null: by cadence. */
  cron: string | null;
  timeZone: string;
  onActiveSync: 'adopt' | 'fail' | 'skip';
  isEnabled: boolean;
}

export const emptyDraft: ConnectorDraft = {
  name: '',
  externalAccountId: '',
  cadenceHours: null,
  cron: null,
  timeZone: browserZone(),
  onActiveSync: 'adopt',
  isEnabled: true,
};

interface Props {
  draft: ConnectorDraft;
  change: (changes: Partial<ConnectorDraft>) => void;
  error: unknown;
}

/** The settings of a connector, at its enrolment and later. */
export function ConnectorFields({ draft, change, error }: Props) {
  return (
    <Stack gap="sm">
      <TextInput
        label="Name"
        required
        maxLength={200}
        value={draft.name}
        error={messageAt(error, 'name')}
        onChange={(event) => change({ name: event.currentTarget.value })}
      />
      <TextInput
        label="External account"
        description="The account at the source. Syncs of one account share its limit."
        required
        value={draft.externalAccountId}
        error={messageAt(error, 'external_account_id')}
        onChange={(event) => change({ externalAccountId: event.currentTarget.value })}
      />
      <ScheduleFields draft={draft} change={change} error={error} />
      <Select
        label="When Airbyte already runs this connection"
        data={activeSyncChoices}
        value={draft.onActiveSync}
        allowDeselect={false}
        onChange={(value) => change({ onActiveSync: (value ?? 'adopt') as ConnectorDraft['onActiveSync'] })}
      />
      <Switch
        label="Run on its schedule"
        checked={draft.isEnabled}
        onChange={(event) => change({ isEnabled: event.currentTarget.checked })}
      />
    </Stack>
  );
}

export const activeSyncChoices = [
  { value: 'adopt', label: 'Follow that run as ours' },
  { value: 'skip', label: 'End at once as done, with no records' },
  { value: 'fail', label: 'Count it as a failure and retry' },
];

/** As the API wants it. */
export function bodyOf(draft: ConnectorDraft) {
  return {
    name: draft.name.trim(),
    external_account_id: draft.externalAccountId.trim(),
    ...scheduleOf(draft),
    on_active_sync: draft.onActiveSync,
    enabled: draft.isEnabled,
  };
}
