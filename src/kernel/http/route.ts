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
     * Whether an Idempotency-Key is honoured. `sealed`: the kept answer holds a secret and is encrypted.
     * `by_handler`: the handler claims the key itself once it has read the body.
     */
    idempotent?: true | 'sealed' | 'by_handler';
    /** The keys of the body are other people's names, `__proto__` among them: only own properties are looked at. */
    anyKeys?: true;
    /** Left out of the rate limit: probes must not be turned away. */
    unlimited?: true;
  }
  interface FastifyRequest {
    /** Null only on public routes. */
    principal: Principal | null;
    receipt: Receipt;
  }
}

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
  /** Keeps the answer in the transaction that makes the effect; fails when another process took the work over. */
  keep(tx: Tx, answer: { status: number; body: unknown; headers?: Record<string, string> }): Promise<void>;
  /** `keep` in the form that services take as `beforeCommit`. */
  keeping<Result>(
    status: number,
    render: (result: Result) => unknown,
    headers?: (result: Result) => Record<string, string>,
  ): (tx: Tx, result: Result) => Promise<void>;
  /** Only for `by_handler`: claims the key for this content; an answer means that the work was done before. */
  claim(content: unknown): Promise<KeptAnswer | null>;
}

/** The caller of a route that is not public. */
export function principalOf(request: FastifyRequest): Principal {
  if (request.principal) return request.principal;
  throw new Error(
    `The route ${request.routeOptions.url} has no principal; only routes with an action have one`,
  );
}

/** Sends an answer that was kept, marked as such. */
export function sendKept(reply: FastifyReply, answer: KeptAnswer): FastifyReply {
  return reply
    .code(answer.status)
    .headers({ ...answer.headers, 'idempotency-replayed': 'true' })
    .send(answer.body);
}
