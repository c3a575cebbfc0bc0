import type { Dependency } from '../../../kernel/limits/types.ts';
import type { SecretLender } from '../../../kernel/secrets/types.ts';
import { isSluiceError, messageOf } from '../../../lib/errors.ts';
import { type GuardedFetch, isExempt } from '../../../lib/fetch/guarded-fetch.ts';
import type { Logger } from '../../../lib/log.ts';
import type { Database } from '../../../lib/postgres/db.ts';
import { createAirbyteClient } from '../airbyte/client.ts';
import type { AirbyteClient, AirbyteCredentials } from '../airbyte/types.ts';
import { connectorErrors } from '../errors.ts';
import { findServer } from './store.ts';
import { type AirbyteServer, secretUse } from './types.ts';

export interface DirectoryDeps {
  db: Database;
  logger: Logger;
  secrets: Pick<SecretLender, 'lend'>;
  /** Of the installation; null: it has no credentials. */
  client: AirbyteClient | null;
  userAgent: string;
  blockPrivateAddresses: boolean;
  /** Knows who is exempt from that. */
  fetch?: GuardedFetch | undefined;
  triggerTimeoutMs?: number | undefined;
  timeoutMs?: number | undefined;
}

/** The Airbyte that a connector's syncs run on. */
export interface AirbyteHome {
  client: AirbyteClient;
  /** Whose breaker it is: an address of one tenant says nothing about the calls of another. */
  dependency: Dependency;
  workspaceId: string | null;
}

/** Who configures a server may use every secret, and its syncs act for its creator. */
const creatorRole = 'admin';
const maxClients = 100;

/** Finds the client for a connector: of the installation, or of a server of its tenant. */
export class AirbyteDirectory {
  readonly #deps: DirectoryDeps;
  /** By what they were opened with, the least recently used first. */
  readonly #clients = new Map<string, AirbyteClient>();

  constructor(deps: DirectoryDeps) {
    this.#deps = deps;
  }

  /** Null: there are no credentials, or they cannot be used. A replaced secret counts from the next call on. */
  async find({ tenantId, server }: { tenantId: string; server: string | null }): Promise<AirbyteHome | null> {
    const { db, client, logger } = this.#deps;
    if (server === null) return client && { client, dependency: 'airbyte', workspaceId: null };
    const found = await db.tenant(tenantId, (tx) => findServer(tx, { tenantId, server }));
    if (found === null) return null;
    return this.open(found).catch((error: unknown) => {
      // A person has to correct it; meanwhile the syncs wait.
      if (!isUnusable(error)) throw error;
      logger.warn(
        { err: error, tenant_id: tenantId, server },
        'an Airbyte server of a tenant cannot be used',
      );
      return null;
    });
  }

  /** Throws `server_unusable` when its secret cannot be used there. */
  async open(server: AirbyteServer): Promise<AirbyteHome> {
    const { tenantId, baseUrl, workspaceId } = server;
    const { fetch, blockPrivateAddresses } = this.#deps;
    const isFree = fetch !== undefined && (await isExempt(fetch, tenantId, baseUrl));
    const blocks = blockPrivateAddresses && !isFree;
    const client = this.#clientFor(server, await this.#credentialsOf(server), blocks);
    return { client, dependency: { name: `airbyte ${new URL(baseUrl).host}`, tenantId }, workspaceId };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clients.values()].map((client) => client.close()));
  }

  async #credentialsOf(server: AirbyteServer): Promise<AirbyteCredentials> {
    const { tenantId, secretName, baseUrl, auth, identity } = server;
    try {
      const lent = await this.#deps.secrets.lend({ tenantId, role: creatorRole, use: secretUse }, secretName);
      lent.assertMayGoTo(baseUrl);
      if (auth === 'token') return { type: 'token', token: lent.value };
      if (auth === 'basic') return { type: 'basic', username: identity ?? '', password: lent.value };
      return { type: 'client', clientId: identity ?? '', clientSecret: lent.value };
    } catch (error) {
      if (isSluiceError(error) && ['not_found', 'forbidden', 'invalid'].includes(error.kind)) {
        throw unusable(server, error);
      }
      throw error;
    }
  }

  #clientFor(server: AirbyteServer, credentials: AirbyteCredentials, blocks: boolean): AirbyteClient {
    const key = JSON.stringify([server.tenantId, server.server, server.baseUrl, credentials, blocks]);
    const known = this.#clients.get(key);
    this.#clients.delete(key);
    const client = known ?? this.#openClient(server, credentials, blocks);
    this.#clients.set(key, client);
    const [oldest] = this.#clients.keys();
    if (this.#clients.size > maxClients && oldest !== undefined) {
      void this.#clients.get(oldest)?.close();
      this.#clients.delete(oldest);
    }
    return client;
  }

  #openClient(
    server: AirbyteServer,
    credentials: AirbyteCredentials,
    blockPrivateAddresses: boolean,
  ): AirbyteClient {
    const { userAgent, triggerTimeoutMs, timeoutMs, logger } = this.#deps;
    const limits = {
      ...(triggerTimeoutMs === undefined ? {} : { triggerTimeoutMs }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    };
    const { baseUrl } = server;
    try {
      const settings = { baseUrl, credentials, userAgent, blockPrivateAddresses, ...limits };
      return createAirbyteClient(settings, { logger });
    } catch (error) {
      // Its messages are about settings that no request can carry, and quote none of them.
      throw unusable(server, error);
    }
  }
}

function unusable({ server }: AirbyteServer, cause: unknown): Error {
  const message = `The credentials of the Airbyte server ${server} cannot be used: ${messageOf(cause)}`;
  return connectorErrors.raise.server_unusable(message, { cause });
}

function isUnusable(error: unknown): boolean {
  return isSluiceError(error) && error.code === 'server_unusable';
}
