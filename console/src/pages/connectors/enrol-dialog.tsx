import { TextInput } from '@mantine/core';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { FormDialog, messageAt } from '../../parts/form-dialog.tsx';
import { useGo } from '../../parts/to.tsx';
import { bodyOf, ConnectorFields, emptyDraft } from './connector-fields.tsx';

export function EnrolDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const go = useGo();
  const [draft, setDraft] = useState(emptyDraft);
  const [connectionId, setConnectionId] = useState('');
  return (
    <FormDialog
      title="Enrol an Airbyte connection"
      isOpen={isOpen}
      onClose={onClose}
      action="Enrol connection"
      send={() =>
        api.post('/api/connectors', {
          body: { ...bodyOf(draft), airbyte_connection_id: connectionId.trim() },
        })
      }
      done={({ name, warnings }) =>
        [`Enrolled ${name}.`, ...warnings.map(({ message }) => `${message}.`)].join(' ')
      }
      touches={['connectors']}
      afterwards={({ connector_id }) => go(`/connectors/${encodeURIComponent(connector_id)}`)}
    >
      {(error) => (
        <>
          <TextInput
            label="Airbyte connection id"
            description="The end of the connection’s URL in Airbyte."
            placeholder="00000000-0000-0000-0000-000000000000"
            required
            value={connectionId}
            error={messageAt(error, 'airbyte_connection_id')}
            onChange={(event) => setConnectionId(event.currentTarget.value)}
            data-autofocus
          />
          <ConnectorFields
            draft={draft}
            error={error}
            change={(changes) => setDraft((before) => ({ ...before, ...changes }))}
          />
        </>
      )}
    </FormDialog>
  );
}
