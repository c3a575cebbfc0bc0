import { useState } from 'react';
import { api } from '../../api/client.ts';
import type { Connector } from '../../api/types.ts';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { bodyOf, ConnectorFields } from './connector-fields.tsx';
import { browserZone } from './schedule-fields.tsx';

export function EditDialog(props: { connector: Connector; isOpen: boolean; onClose: () => void }) {
  const { connector, isOpen, onClose } = props;
  const [draft, setDraft] = useState(() => draftOf(connector));
  const { connector_id } = connector;
  return (
    <FormDialog
      title={`Change ${connector.name}`}
      isOpen={isOpen}
      onClose={onClose}
      action="Save changes"
      send={() =>
        api.patch('/api/connectors/{connector_id}', { path: { connector_id }, body: bodyOf(draft) })
      }
      done={({ name }) => `Saved ${name}.`}
      touches={['connectors']}
    >
      {(error) => (
        <ConnectorFields
          draft={draft}
          error={error}
          change={(changes) => setDraft((before) => ({ ...before, ...changes }))}
        />
      )}
    </FormDialog>
  );
}

function draftOf(connector: Connector) {
  return {
    name: connector.name,
    externalAccountId: connector.external_account_id,
    cadenceHours: connector.configured_cadence_hours,
    cron: connector.cron,
    timeZone: connector.cron === null ? browserZone() : connector.time_zone,
    onActiveSync: connector.on_active_sync,
    isEnabled: connector.enabled,
  };
}
