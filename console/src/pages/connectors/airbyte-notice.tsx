import { Alert } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Reply } from '../../api/client.ts';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago } from '../../parts/time.tsx';
import { airbyteQuery } from './statistics.ts';

/** Null while Airbyte is configured and responds. */
export function AirbyteNotice() {
  const status = useQuery(airbyteQuery).data;
  if (status === undefined) return null;
  if (!status.configured) return <NotConfigured missing={status.missing} />;
  if (status.airbyte.state !== 'closed') return <NotReachable airbyte={status.airbyte} />;
  if (status.airbyte.check.state !== 'ok') return <NotRight check={status.airbyte.check} />;
  return null;
}

function NotConfigured({ missing }: { missing: readonly string[] }) {
  return (
    <Alert color="yellow" title="Airbyte is not configured" className="notice">
      Connectors can be prepared, but no sync starts. The operator of this server has to set{' '}
      {missing.map((name, index) => (
        <span key={name}>
          {index === 0 ? '' : index === missing.length - 1 ? ' and ' : ', '}
          <code>{name}</code>
        </span>
      ))}{' '}
      and restart it.
    </Alert>
  );
}

const troubles: Record<string, string> = {
  wrong_address: 'The address of Airbyte leads elsewhere',
  credentials_refused: 'Airbyte refuses the credentials',
  workspace_unknown: 'Airbyte does not know the workspace',
  unreachable: 'Airbyte does not respond',
};

/** No sync has met it yet. */
function NotRight({ check }: { check: Reply<'/api/connectors/status'>['airbyte']['check'] }) {
  return (
    <Alert color="red" title={troubles[check.state] ?? 'Airbyte is not set up right'} className="notice">
      {check.message === null
        ? 'Tell the operator of this server.'
        : `${check.message} ${check.remedy ?? ''}`}
    </Alert>
  );
}

function NotReachable({ airbyte }: { airbyte: Reply<'/api/connectors/status'>['airbyte'] }) {
  return (
    <Alert color="red" title="Syncs wait for Airbyte" className="notice">
      <div className="stack">
        <span className="row">
          <StatusChip status={airbyte.state} of="circuit" /> {airbyte.reason ?? 'Airbyte does not respond.'}
        </span>
        <span>
          {airbyte.since === null ? null : (
            <>
              Since <Ago at={airbyte.since} />.{' '}
            </>
          )}
          {airbyte.next_try_at === null ? null : (
            <>
              Next try: <Ago at={airbyte.next_try_at} />.{' '}
            </>
          )}
          Waiting uses no attempts. Syncs continue by themselves.
        </span>
      </div>
    </Alert>
  );
}
