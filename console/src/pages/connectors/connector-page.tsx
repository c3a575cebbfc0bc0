import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiProblem, api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { Connector } from '../../api/types.ts';
import { useAction } from '../../parts/action.ts';
import { Id } from '../../parts/command.tsx';
import { confirm } from '../../parts/confirm.tsx';
import { share } from '../../parts/number.ts';
import { Page, Panel, UnreadPage } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago, Duration } from '../../parts/time.tsx';
import { useGo } from '../../parts/to.tsx';
import { ActiveSync } from './active-sync.tsx';
import { AirbyteNotice } from './airbyte-notice.tsx';
import { everyHours, scheduleWords } from './cadence.ts';
import { activeSyncChoices } from './connector-fields.tsx';
import { EditDialog } from './edit-dialog.tsx';
import { connectorStatsQuery } from './statistics.ts';
import { SyncHistory } from './sync-history.tsx';

const breadcrumbs = [{ label: 'Connectors', to: '/connectors' }];

export default function ConnectorPage() {
  const { connectorId = '' } = useParams({ strict: false });
  const { data: connector, error, refetch } = useConnector(connectorId);
  if (connector === undefined)
    return (
      <UnreadPage title="Connector" breadcrumbs={breadcrumbs} error={error} retry={() => void refetch()} />
    );
  return (
    <Page
      title={connector.name}
      breadcrumbs={breadcrumbs}
      state={<ConnectorState connector={connector} />}
      actions={<ConnectorActions connector={connector} />}
    >
      {error === null ? null : <Problem error={error} retry={() => void refetch()} isStale />}
      <AirbyteNotice />
      <ActiveSync connectorId={connector.connector_id} />
      <div className="columns">
        <Settings connector={connector} />
        <Figures connectorId={connector.connector_id} />
      </div>
      <SyncHistory connectorId={connector.connector_id} />
    </Page>
  );
}

function useConnector(connectorId: string) {
  return useQuery({
    queryKey: ['connectors', 'one', connectorId],
    queryFn: ({ signal }) =>
      api.get('/api/connectors/{connector_id}', { path: { connector_id: connectorId }, signal }),
  });
}

function ConnectorState({ connector }: { connector: Connector }) {
  if (!connector.enabled) return <StatusChip status="disabled" />;
  if (connector.last_sync === null) return <StatusChip status="not_started" />;
  return <StatusChip status={connector.last_sync.status} of="sync" />;
}

function ConnectorActions({ connector }: { connector: Connector }) {
  const [isEditing, setEditing] = useState(false);
  const maySync = useCan('connector.sync');
  const mayManage = useCan('connector.manage');
  const sync = useSyncNow(connector);
  const remove = useRemoval(connector);
  return (
    <>
      <Button
        disabled={!maySync}
        title={maySync ? '' : 'Only admins of the tenant can start syncs.'}
        loading={sync.isRunning}
        onClick={() => sync.run()}
      >
        Sync now
      </Button>
      {mayManage ? (
        <>
          <Button variant="default" onClick={() => setEditing(true)}>
            Change
          </Button>
          <Button variant="default" color="red" loading={remove.isRunning} onClick={() => void remove.ask()}>
            Delete
          </Button>
          <EditDialog
            key={connector.updated_at}
            connector={connector}
            isOpen={isEditing}
            onClose={() => setEditing(false)}
          />
        </>
      ) : null}
    </>
  );
}

/** One sync at a time: if one is active already, the page opens that one. */
function useSyncNow({ connector_id, name }: Connector) {
  const go = useGo();
  return useAction({
    run: async () => {
      try {
        const { job_id } = await api.post('/api/connectors/{connector_id}/sync', { path: { connector_id } });
        return { jobId: job_id, isNew: true };
      } catch (error) {
        const active = error instanceof ApiProblem && error.status === 409 && error.document.active_job_id;
        if (typeof active !== 'string') throw error;
        return { jobId: active, isNew: false };
      }
    },
    done: ({ isNew }) =>
      isNew ? `A sync of ${name} is queued.` : `${name} is already syncing: this is the active sync.`,
    touches: ['connectors', 'jobs'],
    afterwards: ({ jobId, isNew }) => {
      if (!isNew) go(`/jobs/${jobId}`);
    },
  });
}

function useRemoval({ connector_id, name }: Connector) {
  const go = useGo();
  const action = useAction({
    run: () => api.delete('/api/connectors/{connector_id}', { path: { connector_id } }),
    done: () => `Deleted ${name}. Its history stays under Jobs.`,
    touches: ['connectors'],
    afterwards: () => go('/connectors'),
  });
  const ask = async () => {
    const consequence = 'It will not run again. The connection in Airbyte and the history of its syncs stay.';
    if (await confirm({ title: `Delete ${name}?`, consequence, action: 'Delete connector', isDanger: true }))
      action.run();
  };
  return { ...action, ask };
}

function Settings({ connector }: { connector: Connector }) {
  const wanted = connector.configured_cadence_hours;
  return (
    <Panel title="Schedule">
      <dl className="facts">
        <dt>Runs</dt>
        <dd>
          {scheduleWords(connector)}
          {wanted !== null && wanted < connector.cadence_hours ? (
            <span className="dim">
              {' '}
              ({everyHours(wanted)} is configured; the plan allows no shorter cadence)
            </span>
          ) : null}
        </dd>
        <dt>Next sync</dt>
        <dd>
          {connector.enabled ? (
            <Ago at={connector.next_sync_at} />
          ) : (
            'Only by hand: the schedule is switched off'
          )}
        </dd>
        <dt>When Airbyte already runs it</dt>
        <dd>{activeSyncChoices.find(({ value }) => value === connector.on_active_sync)?.label}</dd>
        <dt>Account</dt>
        <dd>
          <Id value={connector.external_account_id} />
        </dd>
        {connector.airbyte_server === null ? null : (
          <>
            <dt>Airbyte server</dt>
            <dd>{connector.airbyte_server}</dd>
          </>
        )}
        <dt>Airbyte connection</dt>
        <dd>
          <Id value={connector.airbyte_connection_id} />
        </dd>
      </dl>
    </Panel>
  );
}

function Figures({ connectorId }: { connectorId: string }) {
  const stats = useQuery(connectorStatsQuery).data;
  const figures = stats?.data.find(({ connector_id }) => connector_id === connectorId);
  const retries = Object.entries(figures?.retries_by_class ?? {}) as [string, number][];
  return (
    <Panel title="Statistics">
      <dl className="facts">
        <dt>Syncs</dt>
        <dd className="num">{figures?.jobs ?? 0}</dd>
        <dt>Succeeded</dt>
        <dd className="num">{figures?.success_rate == null ? '–' : share(figures.success_rate, 1)}</dd>
        <dt>Average duration</dt>
        <dd>
          {figures?.average_duration_seconds == null ? (
            '–'
          ) : (
            <Duration ms={figures.average_duration_seconds * 1000} />
          )}
        </dd>
        <dt>Retries</dt>
        <dd>
          {retries.length === 0
            ? 'none'
            : retries.map(([kind, times]) => `${times} × ${kind.replaceAll('_', ' ')}`).join(', ')}
        </dd>
      </dl>
    </Panel>
  );
}
