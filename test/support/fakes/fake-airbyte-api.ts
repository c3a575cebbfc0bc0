import { randomBytes } from 'node:crypto';
import { answerFaults, requestFaults } from './airbyte-document.ts';
import { type FakeAirbyteState, toJson } from './fake-airbyte-state.ts';
import { airbyteTroubles, type FakeRequestKind, type FakeTrouble } from './fake-airbyte-troubles.ts';

export interface FakeAirbyteSettings {
  clientId: string;
  clientSecret: string;
  /** Never expires, like a token that was made by hand. */
  fixedToken: string;
  /** Of `fake-user`, as older self-managed servers have it. */
  password: string;
  tokenLifetimeSeconds: number;
  /** How far Airbyte's clock is ahead of ours. */
  clockAheadMs: number;
  /** Requests of all kinds per window, because Airbyte counts per user and not per application. */
  rateLimit: { max: number; windowMs: number } | null;
}

/** One request in the ledger. */
export interface FakeRequest {
  kind: FakeRequestKind;
  connectionId: string | null;
  method: string;
  path: string;
  query: Record<string, string>;
  body: string;
  authorization: string | undefined;
  /** By the fake's clock. */
  atMs: number;
  /** Of the response; null while there is none. */
  status: number | null;
}

export interface FakeAnswer {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

/** What Airbyte returns when nothing goes wrong. */
export class FakeAirbyteApi {
  readonly #settings: FakeAirbyteSettings;
  readonly #state: FakeAirbyteState;
  readonly #clock: { nowMs(): number };
  /** When each runs out. */
  readonly #tokens = new Map<string, number>();
  /** What was sent or answered that the document does not have. */
  readonly faults: string[] = [];

  constructor(settings: FakeAirbyteSettings, parts: { state: FakeAirbyteState; clock: { nowMs(): number } }) {
    this.#settings = settings;
    this.#state = parts.state;
    this.#clock = parts.clock;
  }

  expireTokens(): void {
    this.#tokens.clear();
  }

  /** Which connection a request is about. */
  connectionOf(
    kind: FakeRequestKind,
    { path, query, body }: { path: string; query: Record<string, string>; body: string },
  ): string | null {
    if (kind === 'trigger') return parseBody(body).connectionId ?? null;
    if (kind === 'list_jobs') return query.connectionId ?? null;
    if (kind === 'get_connection') return idIn(path);
    if (kind === 'get_job' || kind === 'cancel') return this.#state.findJob(idIn(path))?.connectionId ?? null;
    return null;
  }

  /** Refuses what Airbyte's own document does not have, and notes it: the client, or this fake, is wrong then. */
  answer(request: FakeRequest): FakeAnswer {
    const faults = requestFaults(request);
    if (faults.length > 0) {
      this.faults.push(...faults);
      return answerOf(airbyteTroubles.badRequest());
    }
    const answer = this.#answerIn(request);
    if (answer.status === 200)
      this.faults.push(...answerFaults(request.kind, this.#asDocumented(answer.body)));
    return answer;
  }

  /** Servers are ahead of their document: what a test makes a job say on purpose is no fault of the fake. */
  #asDocumented(body: unknown): unknown {
    const chosen = new Set(this.#state.jobs.map(({ status }) => status));
    return JSON.parse(toJson(body), (name, value: unknown) => {
      if (name === 'status' && chosen.has(String(value)) && !documented.includes(String(value)))
        return 'running';
      if (name === 'jobId') return Number.isInteger(value) ? 1 : value;
      return value === null && (name === 'rowsSynced' || name === 'bytesSynced') ? undefined : value;
    });
  }

  #answerIn(request: FakeRequest): FakeAnswer {
    if (request.kind === 'token') return this.#grantToken(request);
    if (!this.#isAuthorized(request)) return answerOf(airbyteTroubles.unauthorized());
    switch (request.kind) {
      case 'trigger':
        return this.#trigger(request);
      case 'list_jobs':
        return this.#listJobs(request);
      case 'get_job':
      case 'cancel':
        return this.#aboutJob(request);
      case 'get_connection': {
        const connection = this.#state.connections.get(idIn(request.path));
        if (connection === undefined) return answerOf(airbyteTroubles.notFound());
        return { status: 200, body: this.#state.connectionView(connection) };
      }
      case 'get_workspace': {
        const workspaceId = idIn(request.path);
        if (!this.#state.workspaces.has(workspaceId)) return answerOf(airbyteTroubles.forbidden());
        return {
          status: 200,
          body: { workspaceId, name: 'Shops', dataResidency: 'auto', notifications: {} },
        };
      }
      case 'list_connections':
        return this.#listConnections(request);
    }
  }

  #grantToken({ body }: FakeRequest): FakeAnswer {
    const asked = parseBody(body);
    if (asked['grant-type'] !== 'client_credentials') return answerOf(airbyteTroubles.badRequest());
    const { clientId, clientSecret, tokenLifetimeSeconds } = this.#settings;
    const isKnown = asked.client_id === clientId && asked.client_secret === clientSecret;
    if (!isKnown) return answerOf(airbyteTroubles.unauthorized());
    const token = `fake-access-${randomBytes(12).toString('hex')}`;
    this.#tokens.set(token, this.#clock.nowMs() + tokenLifetimeSeconds * 1000);
    return {
      status: 200,
      body: { access_token: token, token_type: 'Bearer', expires_in: tokenLifetimeSeconds },
    };
  }

  #isAuthorized({ authorization }: FakeRequest): boolean {
    const pair = Buffer.from(`fake-user:${this.#settings.password}`).toString('base64');
    if (authorization === `Basic ${pair}`) return true;
    const token = authorization?.replace(/^Bearer /, '') ?? '';
    return token === this.#settings.fixedToken || (this.#tokens.get(token) ?? 0) > this.#clock.nowMs();
  }

  #trigger({ body }: FakeRequest): FakeAnswer {
    const { connectionId = '', jobType = '' } = parseBody(body);
    const connection = this.#state.connections.get(connectionId);
    if (jobType !== 'sync') return answerOf(airbyteTroubles.badRequest());
    if (connection === undefined) return answerOf(airbyteTroubles.notFound());
    if (connection.status !== 'active') return answerOf(airbyteTroubles.stateConflict());
    if (this.#state.findActive(connectionId) !== undefined) {
      this.#state.refused.push(connectionId);
      return answerOf(airbyteTroubles.alreadyRunning(connectionId));
    }
    return { status: 200, body: this.#state.jobView(this.#state.makeJob(connectionId)) };
  }

  #aboutJob({ kind, path }: FakeRequest): FakeAnswer {
    const job = this.#state.findJob(idIn(path));
    if (job === undefined) return answerOf(airbyteTroubles.notFound());
    if (kind === 'cancel') {
      // Whatever runs on the connection, not necessarily this job; and when nothing runs, all is well too.
      const active = this.#state.findActive(job.connectionId);
      if (active !== undefined) this.#state.cancel(active);
    } else {
      this.#state.poll(job);
    }
    return { status: 200, body: this.#state.jobView(job) };
  }

  #listJobs({ query }: FakeRequest): FakeAnswer {
    const [by, direction] = (query.orderBy ?? 'createdAt|ASC').split('|');
    if (by !== 'createdAt' || !['ASC', 'DESC'].includes(direction ?? '')) {
      return answerOf(airbyteTroubles.badRequest());
    }
    const sinceMs = query.createdAtStart === undefined ? 0 : Date.parse(query.createdAtStart);
    const found = this.#state.jobs
      .filter((job) => query.connectionId === undefined || job.connectionId === query.connectionId)
      .filter((job) => query.jobType === undefined || job.jobType === query.jobType)
      .filter((job) => query.status === undefined || job.status === query.status)
      .filter((job) => job.createdAtMs >= sinceMs)
      .sort((a, b) => a.createdAtMs - b.createdAtMs || Number(a.runId - b.runId));
    if (direction === 'DESC') found.reverse();
    return this.#page(
      query,
      found.map((job) => this.#state.jobView(job)),
    );
  }

  #listConnections({ query }: FakeRequest): FakeAnswer {
    const workspaces = query.workspaceIds?.split(',');
    const found = [...this.#state.connections.values()].filter(
      ({ workspaceId }) => workspaces === undefined || workspaces.includes(workspaceId),
    );
    return this.#page(
      query,
      found.map((connection) => this.#state.connectionView(connection)),
    );
  }

  #page(query: Record<string, string>, all: unknown[]): FakeAnswer {
    const limit = Number(query.limit ?? 20);
    const offset = Number(query.offset ?? 0);
    const isAllowed = limit >= 1 && limit <= 100 && offset >= 0;
    if (!isAllowed) return answerOf(airbyteTroubles.badRequest());
    const next =
      offset + limit < all.length
        ? `https://api.airbyte.com/v1/?limit=${limit}&offset=${offset + limit}`
        : '';
    return { status: 200, body: { previous: '', next, data: all.slice(offset, offset + limit) } };
  }
}

function answerOf(trouble: FakeTrouble): FakeAnswer {
  if (trouble.type !== 'answer') throw new Error(`The trouble ${trouble.type} is not an answer`);
  return trouble;
}

const documented = ['pending', 'running', 'incomplete', 'failed', 'succeeded', 'cancelled'];

function idIn(path: string): string {
  return decodeURIComponent(path.split('/').at(-1) ?? '');
}

function parseBody(body: string): Record<string, string | undefined> {
  try {
    return JSON.parse(body) as Record<string, string | undefined>;
  } catch {
    return {};
  }
}
