import { demoAirbyteWorkspace, demoConnections } from '../peers/airbyte.ts';
import type { DemoGround } from '../types.ts';

const server = 'demo-airbyte';
const secret = 'demo_airbyte';

/** Connectors on an Airbyte of the demo’s own: whatever Airbyte this installation has is left alone. */
export async function enrolConnectors({ call, host, token }: DemoGround): Promise<void> {
  const allow = [409];
  await call({ method: 'PUT', path: `/api/secrets/${secret}`, body: { value: token, hosts: [host] } });
  await call({
    method: 'PUT',
    path: `/api/airbyte-servers/${server}`,
    body: {
      base_url: `http://${host}/v1`,
      auth: 'token',
      secret,
      workspace_id: demoAirbyteWorkspace,
    },
  });
  for (const { connectionId, name, account, everyHours } of demoConnections) {
    const body = {
      connector_id: `demo-${account}`,
      name,
      airbyte_connection_id: connectionId,
      external_account_id: account,
      airbyte_server: server,
      cadence_hours: everyHours,
    };
    await call({ method: 'POST', path: '/api/connectors', body, allow });
    await call({ method: 'POST', path: `/api/connectors/demo-${account}/sync`, body: {}, allow: [409, 429] });
  }
}
