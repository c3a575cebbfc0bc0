import type { SecretLender } from '../../../kernel/secrets/types.ts';
import type { Role } from '../../../kernel/tenancy/types.ts';
import { isSluiceError } from '../../../lib/errors.ts';
import { findMetadataRefusal, findRefusal } from '../../../lib/fetch/addresses.ts';
import { type GuardedFetch, isExempt } from '../../../lib/fetch/guarded-fetch.ts';
import { parseTarget } from '../../../lib/fetch/target.ts';
import type { Database, Tx } from '../../../lib/postgres/db.ts';
import { type AirbyteFinding, checkAirbyte } from '../airbyte/check.ts';
import { connectorErrors } from '../errors.ts';
import type { AirbyteDirectory } from './directory.ts';
import { countUsers, deleteServer, findServer, listServers, putServer } from './store.ts';
import { type AirbyteServer, type NewServer, type ServerKey, secretUse } from './types.ts';

export interface ServerDeps {
  db: Database;
  secrets: SecretLender;
  directory: AirbyteDirectory;
  blockPrivateAddresses: boolean;
  /** Knows who is exempt from that. */
  fetch?: GuardedFetch | undefined;
}

const maxServers = 100;
const checkMs = 10_000;

export async function saveServer(
  { db, secrets, blockPrivateAddresses, fetch }: ServerDeps,
  server: NewServer & { role: Role },
): Promise<AirbyteServer & { isNew: boolean }> {
  const { tenantId, role, baseUrl, secretName } = server;
  const isFree = fetch !== undefined && (await isExempt(fetch, tenantId, baseUrl));
  const guard = blockPrivateAddresses ? findRefusal : findMetadataRefusal;
  parseTarget(baseUrl, { refuse: isFree ? () => null : guard });
  const wanted = { name: secretName, urls: [baseUrl], pointer: '/secret' };
  await secrets.assertUsable({ tenantId, role, use: secretUse }, wanted);
  return db.tenant(tenantId, async (tx) => {
    const before = await findServer(tx, server);
    if (before === null && (await listServers(tx, { tenantId, limit: maxServers })).length >= maxServers) {
      throw connectorErrors.raise.server_limit_reached(
        `The tenant has ${maxServers} Airbyte servers, the most allowed`,
      );
    }
    return putServer(tx, server);
  });
}

export function readServers({ db }: Pick<ServerDeps, 'db'>, tenantId: string): Promise<AirbyteServer[]> {
  return db.read(tenantId, (tx) => listServers(tx, { tenantId, limit: maxServers }));
}

async function getServerIn(tx: Tx, key: ServerKey): Promise<AirbyteServer> {
  const server = await findServer(tx, key);
  if (server) return server;
  throw connectorErrors.raise.server_not_found(`There is no Airbyte server ${key.server}`);
}

export async function assertServer({ db }: Pick<ServerDeps, 'db'>, key: ServerKey): Promise<void> {
  await db.read(key.tenantId, (tx) => getServerIn(tx, key));
}

/** Asks the server whether its address, credentials and workspace are right. */
export async function checkServer({ db, directory }: ServerDeps, key: ServerKey): Promise<AirbyteFinding> {
  const server = await db.tenant(key.tenantId, (tx) => getServerIn(tx, key));
  const signal = AbortSignal.timeout(checkMs);
  try {
    const { client } = await directory.open(server);
    return await checkAirbyte(client, { workspaceId: server.workspaceId, signal });
  } catch (error) {
    if (signal.aborted) return { state: 'unreachable', message: late, remedy: 'Check that it runs.' };
    if (!isSluiceError(error) || error.code !== 'server_unusable') throw error;
    return { state: 'not_configured', message: error.message, remedy: error.definition.next };
  }
}

const late = `Airbyte did not respond within ${checkMs / 1000} s`;

/** Refused while connectors use it: their syncs would wait for ever. */
export function removeServer({ db }: Pick<ServerDeps, 'db'>, key: ServerKey): Promise<void> {
  return db.tenant(key.tenantId, async (tx) => {
    await getServerIn(tx, key);
    const users = await countUsers(tx, key);
    if (users > 0) {
      throw connectorErrors.raise.server_in_use(`${users} connectors use the Airbyte server ${key.server}`, {
        details: { connectors: users },
      });
    }
    await deleteServer(tx, key);
  });
}
