/** The kinds of requests that the fake Airbyte distinguishes. */
export type FakeRequestKind =
  | 'token'
  | 'trigger'
  | 'get_job'
  | 'list_jobs'
  | 'cancel'
  | 'get_connection'
  | 'list_connections'
  | 'get_workspace';

/** What happens to a request instead of a normal response. */
export type FakeTrouble =
  /** Any response; nothing is done. A text is sent unchanged. */
  | { type: 'answer'; status: number; body: unknown; headers?: Record<string, string> }
  /** Any response although the work is done: a gateway that gave up too early. */
  | { type: 'done_but'; status: number; body: unknown }
  /** Any response at once, and the work a little later: Airbyte had only signalled the start. */
  | { type: 'done_later_but'; afterMs: number; status: number; body: unknown }
  /** Never responds. */
  | { type: 'hang'; done: boolean }
  /** Cuts the connection without a response. */
  | { type: 'cut'; done: boolean }
  /** Does the work and breaks off in the middle of the response. */
  | { type: 'truncated' }
  /** Does the work and responds when the promise resolves. */
  | { type: 'held'; until: Promise<void> }
  /** Does the work only when the promise resolves, whether or not the client still waits. */
  | { type: 'late'; until: Promise<void> };

export interface TroubleScope {
  /** All kinds by default. */
  kind?: FakeRequestKind;
  /** Only requests about this connection, its jobs included. */
  connectionId?: string;
  /** How many requests it hits; unlimited by default. */
  times?: number;
}

const documentation = 'https://reference.airbyte.com/reference/errors';

function problem(
  status: number,
  title: string,
  detail: string,
  type = `${documentation}#${title}`,
): FakeTrouble {
  return { type: 'answer', status, body: problemBody({ status, title, detail, type }) };
}

function problemBody(said: { status: number; title: string; detail: string; type?: string }) {
  const { status, title, detail, type = `${documentation}#${title}` } = said;
  return { status, type, title, detail, documentationUrl: documentation, data: { message: detail } };
}

/** The troubles that the real API is known for. */
export const airbyteTroubles = {
  unauthorized: () => problem(401, 'unauthorized', 'The access token is not valid'),
  forbidden: () => problem(403, 'forbidden', 'The user does not have access to this resource'),
  notFound: () => problem(404, 'resource-not-found', 'Could not find a resource for that id'),
  badRequest: () => problem(400, 'bad-request', 'The body is not what was expected'),
  unprocessable: () => problem(422, 'unprocessable-entity', 'The connection has no enabled streams'),
  insufficientCredits: () =>
    problem(
      422,
      'Insufficient credit balance',
      'Credits are needed for syncs',
      'error:billing/insufficient-credit-balance',
    ),
  alreadyRunning: (connectionId: string) =>
    problem(409, 'try-again-later', `A sync is already running for: ${connectionId}`),
  /** Airbyte has waited a minute for the id of a run that it did start. */
  conflictAfterStart: (afterMs = 0): FakeTrouble => {
    const detail = 'Timed out waiting for the job id';
    const body = problemBody({ status: 409, title: 'state-conflict', detail });
    return { type: 'done_later_but', afterMs, status: 409, body };
  },
  stateConflict: () => problem(409, 'state-conflict', 'The connection is not in a state to be synced'),
  /** Without Retry-After by default; otherwise seconds or an HTTP date. */
  throttled: (retryAfter?: string): FakeTrouble => ({
    type: 'answer',
    status: 429,
    body: { message: 'You are being rate limited.' },
    headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter },
  }),
  requestTimeout: () => problem(408, 'request-timeout', 'The request took too long'),
  serverError: () => problem(500, 'unexpected-problem', 'Something went wrong'),
  unavailable: () => problem(503, 'service-unavailable', 'The service is not available'),
  /** A gateway's page. */
  badGateway: (): FakeTrouble => ({ type: 'answer', status: 502, body: '<html>502 Bad Gateway</html>' }),
  /** The server made the job and gave up waiting for its id. */
  madeButTimedOut: (): FakeTrouble => ({
    type: 'done_but',
    status: 408,
    body: problemBody({ status: 408, title: 'request-timeout', detail: 'The request took too long' }),
  }),
} as const;

interface Rule {
  scope: TroubleScope;
  trouble: FakeTrouble;
  left: number;
}

/** Which trouble hits which request, in the order in which the troubles were told. */
export class TroubleBook {
  #rules: Rule[] = [];

  /** Returns a function that ends this trouble early. */
  add(scope: TroubleScope, trouble: FakeTrouble): () => void {
    const rule = { scope, trouble, left: scope.times ?? Number.POSITIVE_INFINITY };
    this.#rules.push(rule);
    return () => {
      rule.left = 0;
    };
  }

  clear(): void {
    this.#rules = [];
  }

  take(request: { kind: FakeRequestKind; connectionId: string | null }): FakeTrouble | null {
    this.#rules = this.#rules.filter(({ left }) => left > 0);
    const rule = this.#rules.find(({ scope }) => isMeant(scope, request));
    if (rule === undefined) return null;
    rule.left -= 1;
    return rule.trouble;
  }
}

function isMeant(
  scope: TroubleScope,
  { kind, connectionId }: { kind: FakeRequestKind; connectionId: string | null },
): boolean {
  if (scope.kind !== undefined && scope.kind !== kind) return false;
  return scope.connectionId === undefined || scope.connectionId === connectionId;
}
