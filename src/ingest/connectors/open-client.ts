import type { Logger } from '../../lib/log.ts';
import { createAirbyteClient } from './airbyte/client.ts';
import type { AirbyteClient, AirbyteCredentials } from './airbyte/types.ts';
import type { ConnectorConfig } from './settings.ts';

export type AirbyteOptions = Pick<
  ConnectorConfig,
  'airbyteApiToken' | 'airbyteClientId' | 'airbyteClientSecret' | 'airbyteWorkspaceId'
>;

interface ClientOptions extends AirbyteOptions, Pick<ConnectorConfig, 'airbyteBaseUrl'> {
  userAgent: string;
  logger: Logger;
  triggerTimeoutMs?: number | undefined;
  timeoutMs?: number | undefined;
}

/** Without credentials everything else works, and the page of connectors says what is missing. */
export function openClient(options: ClientOptions): AirbyteClient | null {
  const credentials = credentialsOf(options);
  if (credentials === null) return null;
  const { airbyteBaseUrl: baseUrl, userAgent, triggerTimeoutMs, timeoutMs, logger } = options;
  const limits = {
    ...(triggerTimeoutMs === undefined ? {} : { triggerTimeoutMs }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  };
  return createAirbyteClient({ baseUrl, credentials, userAgent, ...limits }, { logger });
}

/** An application is preferred: a token expires. */
function credentialsOf(options: AirbyteOptions): AirbyteCredentials | null {
  const { airbyteApiToken: token, airbyteClientId: clientId, airbyteClientSecret: clientSecret } = options;
  if (clientId !== null && clientSecret !== null) return { type: 'client', clientId, clientSecret };
  return token === null ? null : { type: 'token', token };
}

export function missingSettings(options: AirbyteOptions): string[] {
  const missing: string[] = [];
  if (credentialsOf(options) === null) {
    if (options.airbyteClientId !== null) missing.push('AIRBYTE_CLIENT_SECRET');
    else if (options.airbyteClientSecret !== null) missing.push('AIRBYTE_CLIENT_ID');
    else missing.push('AIRBYTE_API_TOKEN (or AIRBYTE_CLIENT_ID with AIRBYTE_CLIENT_SECRET)');
  }
  if (options.airbyteWorkspaceId === null) missing.push('AIRBYTE_WORKSPACE_ID');
  return missing;
}
