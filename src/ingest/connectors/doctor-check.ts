import pino from 'pino';
import { failed, ok, type Verdict, warn } from '../../kernel/house/verdict.ts';
import type { KernelConfig } from '../../kernel/settings.ts';
import { checkAirbyte } from './airbyte/check.ts';
import { missingSettings, openClient } from './open-client.ts';
import type { ConnectorConfig } from './settings.ts';

const timeoutMs = 10_000;

/** Tells a wrong address, wrong credentials and a missing workspace apart. */
export async function checkConnection(config: KernelConfig & ConnectorConfig): Promise<Verdict> {
  const logger = pino({ level: 'silent' });
  const client = openClient({ ...config, userAgent: 'Sluice doctor', logger, timeoutMs });
  if (client === null) {
    const isStarted = config.airbyteClientId !== null || config.airbyteClientSecret !== null;
    if (!isStarted) return ok('No credentials for Airbyte are set: connectors are not used here');
    return warn(
      `Airbyte is set up in part: ${missingSettings(config).join(' and ')} must be set`,
      'Set it as well.',
    );
  }
  try {
    const { state, message, remedy } = await checkAirbyte(client, { workspaceId: config.airbyteWorkspaceId });
    if (state !== 'ok') return failed(message, remedy);
    if (config.airbyteWorkspaceId !== null) return ok(message);
    return warn(
      `${message}, but AIRBYTE_WORKSPACE_ID is not set`,
      'Set it, so that the operator can list and import the connections of the workspace.',
    );
  } finally {
    await client.close();
  }
}
