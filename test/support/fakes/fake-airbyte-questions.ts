import type { FakeAirbyte } from './fake-airbyte.ts';

/** Requests to the fake Airbyte without the product's client. */
export interface Asked {
  status: number;
  text: string;
  body: Record<string, unknown>;
  headers: Headers;
}

/** With the fixed token unless told; JSON as a plain client would read it. */
export async function ask(
  airbyte: FakeAirbyte,
  line: string,
  { body, token, signal }: { body?: unknown; token?: string; signal?: AbortSignal } = {},
): Promise<Asked> {
  const [method = '', path = ''] = line.split(' ');
  const response = await fetch(`${airbyte.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token ?? airbyte.settings.fixedToken}` },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal,
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type') === 'application/json';
  return { status: response.status, text, body: isJson ? JSON.parse(text) : {}, headers: response.headers };
}

export const trigger = (airbyte: FakeAirbyte, connectionId: string) =>
  ask(airbyte, 'POST /jobs', { body: { connectionId, jobType: 'sync' } });

export const runIdsOf = (airbyte: FakeAirbyte, connectionId: string) =>
  airbyte.jobsOf(connectionId).map(({ runId }) => String(runId));

export const tokenRequest = (airbyte: FakeAirbyte) => ({
  client_id: airbyte.settings.clientId,
  client_secret: airbyte.settings.clientSecret,
  'grant-type': 'client_credentials',
  grant_type: 'client_credentials',
});

export async function tokenFrom(airbyte: FakeAirbyte): Promise<string> {
  const { body } = await ask(airbyte, 'POST /applications/token', { body: tokenRequest(airbyte) });
  return String(body.access_token);
}

/** A connection and its only job, which has been triggered. */
export async function runningSync(airbyte: FakeAirbyte, statuses: string[]) {
  const connection = airbyte.addConnection({
    plan: { statuses, rows: 7, bytes: 70, durationSeconds: 3_723 },
  });
  await trigger(airbyte, connection.connectionId);
  const [runId = ''] = runIdsOf(airbyte, connection.connectionId);
  return { connection, runId };
}
