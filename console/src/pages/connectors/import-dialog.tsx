import { Button, Checkbox, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { api, type Reply } from '../../api/client.ts';
import { useMe } from '../../api/queries.ts';
import { useAction } from '../../parts/action.ts';
import { MoreRows, useKeysetList } from '../../parts/keyset-list.tsx';
import { plural } from '../../parts/number.ts';
import { Problem } from '../../parts/problem.tsx';
import { StatusChip } from '../../parts/status-chip.tsx';

type Connection = Reply<'/api/connections'>['data'][number];
type Imported = Reply<'/api/connectors/import', 'post'>;

/** For operators: assigns connections of the Airbyte workspace to a tenant. */
export function ImportDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  return (
    <Modal opened={isOpen} onClose={onClose} size="lg" title="Import connections from Airbyte">
      <ImportForm onClose={onClose} />
    </Modal>
  );
}

function ImportForm({ onClose }: { onClose: () => void }) {
  const me = useMe();
  const [tenantId, setTenantId] = useState(me?.tenant_id ?? '');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const connections = useKeysetList({
    queryKey: ['connectors', 'connections'],
    fetchPage: (cursor, signal) => api.get('/api/connections', { query: { cursor, limit: 100 }, signal }),
    rowKey: ({ airbyte_connection_id }: Connection) => airbyte_connection_id,
    announcesNew: false,
  });
  const take = useImport(onClose);
  const free = connections.rows.filter(({ enrolled_as }) => enrolled_as === null);
  const picked = free.filter(({ airbyte_connection_id }) => chosen.has(airbyte_connection_id));
  return (
    <Stack gap="sm">
      <TextInput
        label="Tenant"
        description="The chosen connections become this tenant’s connectors."
        value={tenantId}
        onChange={(event) => setTenantId(event.currentTarget.value)}
      />
      {connections.error === null ? null : <Problem error={connections.error} />}
      {connections.isLoading ? <p className="dim">Loading from Airbyte …</p> : null}
      {connections.rows.map((connection) => (
        <ConnectionChoice
          key={connection.airbyte_connection_id}
          connection={connection}
          isChosen={chosen.has(connection.airbyte_connection_id)}
          toggle={() => setChosen((before) => toggled(before, connection.airbyte_connection_id))}
        />
      ))}
      {connections.rows.length > 0 ? <MoreRows list={connections} noun="connections" /> : null}
      {take.refused.map(({ airbyte_connection_id, message }) => (
        <p key={airbyte_connection_id} className="small" role="alert">
          {message}
        </p>
      ))}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Close
        </Button>
        <Button
          disabled={picked.length === 0 || tenantId.trim() === ''}
          loading={take.isRunning}
          onClick={() => take.run({ connections: picked, tenantId: tenantId.trim() })}
        >
          Import {plural(picked.length, 'connection')}
        </Button>
      </Group>
    </Stack>
  );
}

function ConnectionChoice(props: { connection: Connection; isChosen: boolean; toggle: () => void }) {
  const { airbyte_connection_id, name, status, enrolled_as } = props.connection;
  return (
    <Checkbox
      checked={props.isChosen}
      disabled={enrolled_as !== null}
      onChange={props.toggle}
      label={
        <span className="row">
          {name} <StatusChip status={status} />
        </span>
      }
      description={
        enrolled_as === null
          ? airbyte_connection_id
          : `Already the connector ${enrolled_as.connector_id} of tenant ${enrolled_as.tenant_id}`
      }
    />
  );
}

/** Some connections may be refused while others are imported: the refused ones stay on screen with the reason. */
function useImport(onClose: () => void) {
  const [refused, setRefused] = useState<Imported['refused']>([]);
  const action = useAction<Imported, { connections: Connection[]; tenantId: string }>({
    run: ({ connections, tenantId }) =>
      api.post('/api/connectors/import', {
        body: {
          connections: connections.map(({ airbyte_connection_id, name }) => ({
            airbyte_connection_id,
            name,
            tenant_id: tenantId,
            external_account_id: airbyte_connection_id,
          })),
        },
      }),
    done: ({ imported }) =>
      imported.length === 0 ? null : `Imported ${plural(imported.length, 'connection')}.`,
    touches: ['connectors'],
    afterwards: (result) => {
      setRefused(result.refused);
      if (result.refused.length === 0) onClose();
    },
  });
  return { ...action, refused };
}

function toggled(before: ReadonlySet<string>, id: string): Set<string> {
  const after = new Set(before);
  if (!after.delete(id)) after.add(id);
  return after;
}
