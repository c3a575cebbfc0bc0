import '@fastify/multipart';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import type { Database, Tx } from '../../lib/postgres/db.ts';
import type { Action } from '../tenancy/rights.ts';
import type { Principal } from '../tenancy/types.ts';
import type { Cursors } from './cursor.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The right that the caller needs. Every route has this or `public`. */
    action?: Action;
    public?: true;
    /**
     * Whether an Idempotency-Key is honoured. `sealed`: the stored response holds a secret and is encrypted.
     * `by_handler`: the handler claims the key itself once it has read the body.
     */
    idempotent?: true | 'sealed' | 'by_handler';
    /** The body's keys are foreign names, perhaps `__proto__`: the handler reads own properties only. */
    anyKeys?: true;
    /** The JSON body carries data, such as rows: as much as MAX_BODY_BYTES, where others have room for 64 KiB. */
    takesData?: true;
    /** Which of the tenant’s shares of this process the handler takes a slot of. */
    share?: Share;
    /** Exempt from the rate limit: probes must not be refused. */
    unlimited?: true;
  }
  interface FastifyRequest {
    /** Null only on public routes. */
    principal: Principal | null;
    receipt: Receipt;
  }
}

/** What a tenant may have at work only so often at once: TENANT_CONCURRENT_SEARCHES, TENANT_CONCURRENT_UPLOADS. */
export type Share = 'searches' | 'uploads';

export type RouteApp = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>;

export interface RouteDeps {
  db: Database;
  cursors: Cursors;
}

/** How a house plugs its routes into the server. */
export type RouteModule = (app: RouteApp, deps: RouteDeps) => void;

export interface KeptAnswer {
  status: number;
  headers: Record<string, string>;
  /** As it goes over the wire. */
  body: string;
}

/** The memory of one request with an Idempotency-Key; without the header every method does nothing. */
export interface Receipt {
  /** Stores the response in the transaction of the effect; fails when another process has taken over. */
  keep(tx: Tx, answer: { status: number; body: unknown; headers?: Record<string, string> }): Promise<void>;
  /** `keep` in the form that services take as `beforeCommit`. */
  keeping<Result>(
    status: number,
    render: (result: Result) => unknown,
    headers?: (result: Result) => Record<string, string>,
  ): (tx: Tx, result: Result) => Promise<void>;
  /** Only for `by_handler`: claims the key for this content. Returns the stored response if there is one. */
  claim(content: unknown): Promise<KeptAnswer | null>;
}

/** The caller of a route that is not public. */
export function principalOf(request: FastifyRequest): Principal {
  if (request.principal) return request.principal;
  throw new Error(
    `The route ${request.routeOptions.url} has no principal; only routes with an action have one`,
  );
}

/** Sends a stored response, marked as such. */
export function sendKept(reply: FastifyReply, answer: KeptAnswer): FastifyReply {
  return reply
    .code(answer.status)
    .headers({ ...answer.headers, 'idempotency-replayed': 'true' })
    .send(answer.body);
}
