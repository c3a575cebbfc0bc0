import { Select, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { FormDialog, messageAt } from '../../parts/form-dialog.tsx';
import { useGo } from '../../parts/to.tsx';
import { bodyOf, ConnectorFields, emptyDraft } from './connector-fields.tsx';

export function EnrolDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const go = useGo();
  const [draft, setDraft] = useState(emptyDraft);
  const [connectionId, setConnectionId] = useState('');
  const [server, setServer] = useState<string | null>(null);
  return (
    <FormDialog
      title="Enrol an Airbyte connection"
      isOpen={isOpen}
      onClose={onClose}
      action="Enrol connection"
      send={() =>
        api.post('/api/connectors', {
          body: {
            ...bodyOf(draft),
            airbyte_connection_id: connectionId.trim(),
            ...(server === null ? {} : { airbyte_server: server }),
          },
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
          <ServerChoice value={server} onChange={setServer} />
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

/** Nothing to choose while the tenant has no server of its own. */
function ServerChoice({
  value,
  onChange,
}: {
  value: string | null;
  onChange: (server: string | null) => void;
}) {
  const servers = useQuery({
    queryKey: ['connectors', 'servers'],
    queryFn: ({ signal }) => api.get('/api/airbyte-servers', { signal }),
  }).data?.data;
  if (servers === undefined || servers.length === 0) return null;
  return (
    <Select
      label="Airbyte server"
      placeholder="The one of this installation"
      clearable
      data={servers.map(({ server }) => server)}
      value={value}
      onChange={onChange}
    />
  );
}
