import { createHash, randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type KeptAnswer, principalOf, type Receipt, sendKept } from '../../kernel/http/route.ts';
import type { Database, Tx } from '../../lib/postgres/db.ts';
import { createTurns } from '../../lib/timing/event-loop-turns.ts';
import { apiErrors } from '../errors.ts';
import { canonicalJson } from './canonical-json.ts';
import {
  claimKey,
  findKey,
  type KeyScope,
  keepAnswer,
  releaseKey,
  type StoredKey,
} from './idempotency-store.ts';
import { createSeal, type Seal } from './sealed-answer.ts';

const ownerLeaseSeconds = 30;
const claimTries = 3;
const notKept = new Set([401, 403, 429]);

/**
 * Idempotency-Key. The key is claimed in a short transaction of its own before the work; the transaction that does
 * the work also stores the response, guarded by the owner. So wherever a crash happens, either nothing happened and the
 * key can be claimed again once the owner's lease has expired, or both effect and response are stored.
 */
export function installIdempotency(app: FastifyInstance, options: { db: Database; secret: string }): void {
  app.decorateRequest('receipt');
  app.addHook('onRequest', async (request) => {
    request.receipt = noReceipt;
  });
  app.addHook('preHandler', async (request, reply) => {
    const { idempotent } = request.routeOptions.config;
    const key = request.headers['idempotency-key'];
    if (idempotent === undefined || key === undefined) return;
    const receipt = new StoredReceipt({ ...options, request, reply, key: checkedKey(key) });
    request.receipt = receipt;
    if (idempotent === 'by_handler') return;
    const answer = await receipt.claim(request.body);
    if (answer) return sendKept(reply, answer);
  });
  app.addHook('onSend', async (request, reply, payload) => {
    if (request.receipt instanceof StoredReceipt) await request.receipt.settle(reply, payload);
    return payload;
  });
}

const noReceipt: Receipt = {
  keep: async () => {},
  keeping: () => async () => {},
  claim: async () => null,
};

function checkedKey(key: string | string[]): string {
  if (typeof key === 'string' && /^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw apiErrors.raise.invalid_idempotency_key(
    'The Idempotency-Key must be one header of 1 to 255 visible ASCII characters',
  );
}

class StoredReceipt implements Receipt {
  readonly #db: Database;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #scope: KeyScope;
  readonly #seal: Seal | null;
  readonly #owner = randomUUID();
  #state: 'open' | 'claimed' | 'kept' | 'settled' = 'open';

  constructor(options: {
    db: Database;
    secret: string;
    request: FastifyRequest;
    reply: FastifyReply;
    key: string;
  }) {
    const { request } = options;
    const { tenantId, userId } = principalOf(request);
    const route = `${request.method} ${request.routeOptions.url}`;
    this.#db = options.db;
    this.#request = request;
    this.#reply = options.reply;
    this.#scope = { tenantId, principal: userId, route, key: options.key };
    this.#seal =
      request.routeOptions.config.idempotent === 'sealed'
        ? createSeal({ secret: options.secret, idempotencyKey: options.key })
        : null;
  }

  async claim(content: unknown): Promise<KeptAnswer | null> {
    const { params, query } = this.#request;
    const hash = createHash('sha256').update(`${this.#scope.route}\n`);
    const takeTurn = createTurns();
    for (const piece of canonicalJson({ params, query, body: content ?? null })) {
      hash.update(piece);
      await takeTurn();
    }
    const requestHash = hash.digest('hex');
    for (let attempt = 0; attempt < claimTries; attempt += 1) {
      const found = await this.#claimOrFind(requestHash);
      if (found === 'claimed') {
        this.#state = 'claimed';
        return null;
      }
      // No row: its owner released it between our two statements.
      if (found) return this.#answerOf(found, requestHash);
    }
    throw inFlight(1);
  }

  async keep(
    tx: Tx,
    answer: { status: number; body: unknown; headers?: Record<string, string> },
  ): Promise<void> {
    const text = this.#reply.serializeInput(answer.body as Record<string, unknown>, String(answer.status));
    const kept = await keepAnswer(tx, this.#scope, {
      owner: this.#owner,
      status: answer.status,
      headers: { 'content-type': 'application/json; charset=utf-8', ...answer.headers },
      body: this.#closed(String(text)),
    });
    if (!kept)
      throw apiErrors.raise.idempotency_taken_over('A retry with the same Idempotency-Key took over');
    this.#state = 'kept';
  }

  keeping<Result>(
    status: number,
    render: (result: Result) => unknown,
    headers?: (result: Result) => Record<string, string>,
  ): (tx: Tx, result: Result) => Promise<void> {
    return (tx, result) => this.keep(tx, { status, body: render(result), headers: headers?.(result) });
  }

  /** Runs as the response is sent: stores a refusal, releases the key after a failure. */
  async settle(reply: FastifyReply, payload: unknown): Promise<void> {
    const status = reply.statusCode;
    const done =
      this.#state === 'open' || this.#state === 'settled' || (this.#state === 'kept' && status < 400);
    this.#state = done ? this.#state : 'settled';
    if (done) return;
    try {
      await this.#db.tenant(this.#scope.tenantId, async (tx) => {
        if (status >= 500 || notKept.has(status) || typeof payload !== 'string') {
          await releaseKey(tx, this.#scope, this.#owner);
        } else {
          await this.#keepSent(tx, { status, body: payload });
        }
      });
    } catch (error) {
      // The response itself is right; the key stays claimed until its lease expires.
      this.#request.log.warn({ err: error }, 'the outcome of an idempotency key could not be stored');
    }
  }

  async #keepSent(tx: Tx, { status, body }: { status: number; body: string }): Promise<void> {
    const headers: Record<string, string> = {};
    for (const name of ['content-type', 'location']) {
      const value = this.#reply.getHeader(name);
      if (typeof value === 'string') headers[name] = value;
    }
    await keepAnswer(tx, this.#scope, { owner: this.#owner, status, headers, body: this.#closed(body) });
  }

  async #claimOrFind(requestHash: string): Promise<'claimed' | StoredKey | null> {
    return this.#db.tenant(this.#scope.tenantId, async (tx) => {
      const claimed = await claimKey(tx, this.#scope, {
        requestHash,
        owner: this.#owner,
        leaseSeconds: ownerLeaseSeconds,
      });
      return claimed ? 'claimed' : findKey(tx, this.#scope);
    });
  }

  #answerOf(found: StoredKey, requestHash: string): KeptAnswer {
    if (found.requestHash !== requestHash) {
      throw apiErrors.raise.idempotency_key_reused(
        'This Idempotency-Key was used with different content within the last 24 hours',
      );
    }
    if (found.statusCode === null) throw inFlight(Math.min(5, found.leaseSeconds));
    const body = this.#seal ? this.#seal.open(found.body ?? '') : (found.body ?? '');
    if (body !== null) return { status: found.statusCode, headers: found.headers ?? {}, body };
    throw apiErrors.raise.idempotency_answer_lost('The server’s secret has changed since the first request');
  }

  #closed(text: string): string {
    return this.#seal ? this.#seal.close(text) : text;
  }
}

function inFlight(retryAfterSeconds: number): Error {
  return apiErrors.raise.idempotency_in_flight(
    'The first request with this Idempotency-Key has no response yet',
    {
      retryAfterSeconds,
    },
  );
}
