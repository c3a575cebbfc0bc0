import { expect, test } from 'vitest';
import { keptLog } from '../support/probes/signals.ts';
import { hasEnded, useSyncs } from '../support/servers/sync-server.ts';
import { useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const { logger, logged } = keptLog();
const syncs = useSyncs(database, { logger });

test('every log line about a sync has its correlation id, also those of the Airbyte client', async () => {
  const sync = await syncs.connector({}, { plan: { statuses: ['defrosting', 'succeeded'] } });
  const { connectionId } = sync.connection;
  const answer = await syncs.call(sync, `/api/connectors/${sync.connectorId}/sync`, 'POST', {
    correlation_id: 'invoice-4711',
  });
  const jobId = String(answer.body.job_id);
  const run = syncs.airbyte.state.makeJob(connectionId);
  const headers = { 'x-ratelimit-remaining': '7' };
  const body = syncs.airbyte.state.jobView(run);
  syncs.airbyte.trouble(
    { kind: 'trigger', connectionId, times: 1 },
    { type: 'answer', status: 200, body, headers },
  );
  expect(await syncs.driveUntil(sync, jobId, hasEnded)).toMatchObject({ status: 'success' });
  const messages = ['Airbyte speaks of its rate limit', 'Airbyte reports a job status', 'a sync succeeded'];
  for (const message of messages) {
    const lines = logged.filter(({ msg }) => String(msg).startsWith(message));
    expect(lines, message).toHaveLength(1);
    expect(lines[0], message).toMatchObject({ job_id: jobId, correlation_id: 'invoice-4711' });
  }
});
