import { afterAll, beforeAll } from 'vitest';
import type { ConnectorHouse, ConnectorHouseOptions } from '../../../src/ingest/connectors/open.ts';
import type { RouteModule } from '../../../src/kernel/http/route.ts';
import type { Kernel } from '../../../src/kernel/jobs/kernel.ts';
import { jobRoutes } from '../../../src/kernel/jobs/routes.ts';
import { statsRoutes } from '../../../src/kernel/stats/routes.ts';
import { newId } from '../../../src/lib/ids.ts';
import { FakeAirbyte } from '../fakes/fake-airbyte.ts';
import type { FakeConnection } from '../fakes/fake-airbyte-state.ts';
import { testConnectorHouse } from '../worlds/connector-house.ts';
import { newTenant, type TestDatabase } from '../worlds/database.ts';
import { useHouse } from '../worlds/kernel.ts';
import { type TestClaims, type TestServer, useServer } from './server.ts';

export type Answer = Record<string, unknown>;

export interface TestSync {
  tenantId: string;
  connectorId: string;
  connection: FakeConnection;
}

/** Connectors over HTTP on a test file's database, before a fake Airbyte; jobs run when the test says so. */
export function useSyncs(database: TestDatabase, options: Partial<ConnectorHouseOptions> = {}) {
  let airbyte: FakeAirbyte | undefined;
  const fake = (): FakeAirbyte => {
    if (!airbyte) throw new Error('The fake Airbyte is available only after beforeAll has run');
    return airbyte;
  };
  beforeAll(async () => {
    airbyte = await FakeAirbyte.start();
  });
  afterAll(() => airbyte?.close());
  const { held, open } = useHouse(
    database,
    (kernel) =>
      testConnectorHouse(database.db, {
        kernel,
        airbyteBaseUrl: fake().url,
        airbyteApiToken: fake().settings.fixedToken,
        airbyteWorkspaceId: '18dccc91-0ab1-4f72-9ed7-0b8fc27c5826',
        // What a slow machine answers late has not failed: where nobody answers at all, a test says how long it waits.
        triggerTimeoutMs: 60_000,
        timeoutMs: 60_000,
        ...options,
      }),
    { leaseMs: 30_000 },
  );
  const routes: RouteModule = (app, deps) => {
    jobRoutes(held.kernel)(app, deps);
    statsRoutes(app, deps);
    for (const module of open().routes) module(app, deps);
  };
  const server = useServer(database, { routes: [routes] });
  const call = callerOf(server);
  return {
    held,
    server,
    call,
    get airbyte(): FakeAirbyte {
      return fake();
    },
    get house(): ConnectorHouse {
      return open();
    },
    ...stepsOf({ database, call, fake, kernel: () => held.kernel }),
  };
}

type Call = ReturnType<typeof callerOf>;

function stepsOf(parts: {
  database: TestDatabase;
  call: Call;
  fake: () => FakeAirbyte;
  kernel: () => Kernel;
}) {
  const { database, call, fake } = parts;
  const get = async ({ tenantId }: { tenantId: string }, jobId: string): Promise<Answer> =>
    (await call({ tenantId }, `/api/syncs/${jobId}`)).body;
  const drive = (tenantId?: string) =>
    parts.kernel().cycle({ budgetMs: 5_000, ...(tenantId === undefined ? {} : { tenantId }) });
  return {
    get,
    drive,
    /** A connection of Airbyte and its connector. */
    async connector(
      wish: { tenantId?: string; plan?: string } & Record<string, unknown> = {},
      connection: Partial<FakeConnection> = {},
    ): Promise<TestSync> {
      const { tenantId: known, plan = 'enterprise', ...fields } = wish;
      const tenantId = known ?? (await newTenant(database, plan));
      const made = fake().addConnection(connection);
      const connectorId = `conn-${newId()}`;
      const answer = await call({ tenantId }, '/api/connectors', 'POST', {
        connector_id: connectorId,
        name: 'A shop',
        airbyte_connection_id: made.connectionId,
        external_account_id: `account-${connectorId}`,
        ...fields,
      });
      if (answer.status !== 201) throw new Error(`The connector was refused: ${answer.text}`);
      return { tenantId, connectorId, connection: made };
    },
    /** Syncs now; returns the job's id. */
    async start({ tenantId, connectorId }: TestSync): Promise<string> {
      const answer = await call({ tenantId }, `/api/connectors/${connectorId}/sync`, 'POST', {});
      if (answer.status !== 202) throw new Error(`The sync was refused: ${answer.text}`);
      return String(answer.body.job_id);
    },
    /** Runs slices until the sync looks as wanted. */
    async driveUntil(
      sync: { tenantId: string },
      jobId: string,
      isDone: (seen: Answer) => boolean,
      deadlineMs = 30_000,
    ): Promise<Answer> {
      const deadline = Date.now() + deadlineMs;
      for (;;) {
        // One slice at a time: a cycle would go through all that comes due meanwhile.
        await parts.kernel().kickOff({ tenantId: sync.tenantId, jobId, durationMs: 1_000 });
        const seen = await get(sync, jobId);
        if (isDone(seen)) return seen;
        if (Date.now() > deadline) throw new Error(`Not within ${deadlineMs} ms: ${JSON.stringify(seen)}`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
    events: (jobId: string) =>
      database.owner<{ type: string; data: Answer }>(
        'select type, data from events where subject = $1 order by xid, event_id',
        [jobId],
      ),
  };
}

export const hasEnded = ({ status }: Answer): boolean =>
  ['success', 'dead_letter', 'canceled'].includes(String(status));

function callerOf(server: TestServer) {
  return async (claims: TestClaims, route: string, method = 'GET', body?: object) => {
    const headers: Record<string, string> = { ...(await server.bearer(claims)) };
    if (body) headers['content-type'] = 'application/json';
    const answer = await fetch(`${server.url}${route}`, {
      method,
      headers,
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await answer.text();
    return {
      status: answer.status,
      text,
      headers: answer.headers,
      body: (text === '' ? {} : JSON.parse(text)) as Answer,
    };
  };
}
