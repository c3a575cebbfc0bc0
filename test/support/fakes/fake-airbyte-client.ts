import { onTestFinished } from 'vitest';
import { createAirbyteClient } from '../../../src/ingest/connectors/airbyte/client.ts';
import type {
  AirbyteAnswer,
  AirbyteClient,
  AirbyteCredentials,
  AirbyteProblem,
  AirbyteSettings,
} from '../../../src/ingest/connectors/airbyte/types.ts';
import { keptLog } from '../probes/signals.ts';
import type { FakeAirbyte } from './fake-airbyte.ts';

/** The product's client for a fake Airbyte, with its clock and its log; closed when the test ends. */
export function openAirbyteClient(airbyte: FakeAirbyte, settings: Partial<AirbyteSettings> = {}) {
  const { logger, logged } = keptLog();
  const credentials: AirbyteCredentials = { type: 'token', token: airbyte.settings.fixedToken };
  const client: AirbyteClient = createAirbyteClient(
    { baseUrl: airbyte.url, credentials, userAgent: 'test/1', ...settings },
    { logger, clock: airbyte },
  );
  onTestFinished(() => client.close());
  return { client, logged };
}

/** As an application with an id and a secret. */
export function clientCredentials({ settings }: FakeAirbyte): AirbyteCredentials {
  return { type: 'client', clientId: settings.clientId, clientSecret: settings.clientSecret };
}

export function accepted<T>(answer: AirbyteAnswer<T>): T {
  if (answer.type === 'ok') return answer.value;
  throw new Error(`Airbyte was expected to say yes: ${JSON.stringify(answer)}`);
}

export function problemOf(answer: AirbyteAnswer<unknown>): AirbyteProblem {
  if (answer.type !== 'ok') return answer.problem;
  throw new Error('Airbyte was expected to say no');
}
