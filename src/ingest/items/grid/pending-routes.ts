import type { FastifyBaseLogger } from 'fastify';
import { z } from 'zod';
import { problems } from '../../../kernel/http/replies.ts';
import { principalOf, type RouteDeps, type RouteModule } from '../../../kernel/http/route.ts';
import type { Principal } from '../../../kernel/tenancy/types.ts';
import type { Database } from '../../../lib/postgres/db.ts';
import { itemErrors } from '../errors.ts';
import { pendingReply, renderPending } from '../views.ts';
import { type PageTiming, timePage } from './page-timing.ts';
import { countPending, listPending, type PendingRow } from './store.ts';

const list = 'pending';
const rememberMs = 30_000;
const maxRemembered = 10_000;

const querystring = z.strictObject({
  statuses: z
    .string()
    .max(100)
    .default('PENDING,PROCESSING')
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(['PENDING', 'PROCESSING'])).min(1)),
  userId: z.enum(['me', 'all']).default('me'),
  jobType: z.enum(['csv', 'image']).optional(),
  jobId: z.uuid().optional(),
  updatedFrom: z.iso.datetime({ offset: true }).optional(),
  updatedTo: z.iso.datetime({ offset: true }).optional(),
  pageSize: z.coerce.number().int().min(1).max(500).default(100),
  after: z.string().max(4000).optional(),
});

const reply = z.object({
  data: z.array(pendingReply),
  hasMore: z.boolean(),
  nextCursor: z.string().nullable(),
  pendingCount: z.int(),
});

/** Open rows of all jobs: the caller's own, or, for admins, the tenant's. */
export function pendingRoutes({ enabled, pages }: { enabled: boolean; pages: PageTiming }): RouteModule {
  return (app, deps) => {
    const counts = new PendingCounts(deps.db);
    app.route({
      method: 'GET',
      url: '/api/pending',
      config: { action: 'item.read' },
      schema: {
        tags: ['items'],
        summary: 'List open rows across all items jobs, least recently updated first',
        querystring,
        response: { 200: reply, ...problems(404) },
      },
      handler: async (request) => {
        if (!enabled) {
          throw itemErrors.raise.feature_disabled('GLOBAL_PENDING_ENABLED is false on this server');
        }
        const principal = principalOf(request);
        const owner = { tenantId: principal.tenantId, userId: ownerOf(principal, request.query.userId) };
        const rows = await readPage({ ...deps, pages }, { owner, query: request.query, log: request.log });
        const shown = rows.slice(0, request.query.pageSize);
        const last = shown.at(-1);
        const hasMore = rows.length > shown.length;
        return {
          data: shown.map(renderPending),
          hasMore,
          nextCursor: hasMore && last ? deps.cursors.encode(list, [last.updatedAt, last.id]) : null,
          pendingCount: await counts.read(owner),
        };
      },
    });
  };
}

interface Owner {
  tenantId: string;
  /** Null: of the whole tenant. */
  userId: string | null;
}

/** Reads one row more than is shown. */
async function readPage(
  { db, cursors, pages }: RouteDeps & { pages: PageTiming },
  { owner, query, log }: { owner: Owner; query: z.output<typeof querystring>; log: FastifyBaseLogger },
): Promise<PendingRow[]> {
  const position = query.after === undefined ? null : cursors.decode(list, query.after);
  const wanted = {
    ...owner,
    jobId: query.jobId ?? null,
    jobType: query.jobType ?? null,
    statuses: query.statuses,
    updatedFrom: query.updatedFrom === undefined ? null : new Date(query.updatedFrom),
    updatedTo: query.updatedTo === undefined ? null : new Date(query.updatedTo),
    after: position && { updatedAt: String(position[0]), id: Number(position[1]) },
    limit: query.pageSize + 1,
  };
  return timePage(pages, { list: 'pending', log }, () =>
    db.read(owner.tenantId, (tx) => listPending(tx, wanted)),
  );
}

/** Counts at most twice a minute for each caller. */
class PendingCounts {
  readonly #db: Database;
  readonly #known = new Map<string, { atMs: number; count: number }>();

  constructor(db: Database) {
    this.#db = db;
  }

  async read(owner: Owner): Promise<number> {
    const key = `${owner.tenantId}\0${owner.userId ?? ''}`;
    const known = this.#known.get(key);
    if (known && performance.now() - known.atMs < rememberMs) return known.count;
    const count = await this.#db.read(owner.tenantId, (tx) => countPending(tx, owner));
    if (this.#known.size > maxRemembered) this.#known.clear();
    this.#known.set(key, { atMs: performance.now(), count });
    return count;
  }
}

/** Only admins may list the rows of the whole tenant. */
function ownerOf(principal: Principal, asked: 'me' | 'all'): string | null {
  if (asked === 'me') return principal.userId;
  if (principal.role === 'member') {
    throw itemErrors.raise.all_users_forbidden('Members see their own rows; userId=all is for admins');
  }
  return null;
}
