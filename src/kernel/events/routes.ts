import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Database } from '../../lib/postgres/db.ts';
import { type Cursors, cursorErrors } from '../http/cursor.ts';
import { listOf, pageQuery, problems, timestamp } from '../http/replies.ts';
import { principalOf, type RouteApp, type RouteDeps, type RouteModule } from '../http/route.ts';
import type { WakeUp } from '../jobs/wake-up.ts';
import { ownerFilter, type Principal } from '../tenancy/types.ts';
import type { LiveStream, LiveStreams } from './live-stream.ts';
import { isGonePosition } from './position.ts';
import { type LogPage, LogReader } from './reader.ts';
import { cursorOf, findPosition, positionOfCursor } from './service.ts';
import { type EventBatch, EventTails } from './tail.ts';
import {
  type EventFilter,
  type EventRow,
  envelopeOf,
  isTypePattern,
  type LogPosition,
  parseEventId,
} from './types.ts';

export interface EventRoutesOptions {
  wake: WakeUp;
  /** From src/api/sse.ts. */
  streams: LiveStreams;
  pollMs?: number;
  batchSize?: number;
}

const tags = ['events'];
const maxTypes = 50;
/** Cursors of the log read backwards are bound to this name. */
const newestList = 'newest events';

const filterQuery = {
  type: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .refine((value) => {
      const types = typesIn(value);
      return types.length <= maxTypes && types.every(isTypePattern);
    }, `must be up to ${maxTypes} types such as job.queued, or prefixes such as job.*`)
    .describe(
      'Only these types: repeated or separated by commas; `job.*` matches all that begin with `job.`',
    ),
  subject: z
    .string()
    .max(500)
    .refine((text) => !text.includes('\0'), 'must not contain NUL')
    .optional()
    .describe('Only about this job, upload or hand-off'),
  after: z
    .string()
    .max(16_000)
    .optional()
    .describe(
      'Only what comes after: the id of a frame of the stream or `next_cursor`, which are exact; or the id of an ' +
        'event, after which events that were written at the same time may come once more',
    ),
};

const listQuery = z
  .strictObject({
    ...filterQuery,
    order: z
      .enum(['oldest', 'newest'])
      .default('oldest')
      .describe('`newest` is for looking: an event that commits late may appear between those already shown'),
    before: z
      .string()
      .refine((text) => parseEventId(text) !== null, 'must be the id of an event')
      .optional()
      .describe('With `order=newest`: only events before the one with this id'),
    ...pageQuery,
  })
  .refine(
    ({ order, after, before }) => (order === 'newest' ? after : before) === undefined,
    '`after` goes with the oldest first, `before` with `order=newest`',
  );

const envelopeReply = z
  .object({
    specversion: z.literal('1.0'),
    id: z.string(),
    source: z.string(),
    type: z.string(),
    subject: z.string(),
    time: timestamp,
    datacontenttype: z.literal('application/json'),
    data: z.record(z.string(), z.unknown()),
    tenantid: z.string(),
    correlationid: z.string().optional(),
  })
  .meta({ id: 'Event', description: 'A CloudEvents 1.0 envelope' });

type FilterInput = { type?: string | string[] | undefined; subject?: string | undefined };

/** The audit log, as pages and as a live stream. */
export function eventRoutes(options: EventRoutesOptions): RouteModule {
  return (app, deps) => {
    installList(app, deps);
    installStream(app, deps, options);
  };
}

function installList(app: RouteApp, { db, cursors }: RouteDeps): void {
  app.route({
    method: 'GET',
    url: '/api/events',
    config: { action: 'event.read' },
    schema: {
      tags,
      summary: 'Read the audit log, oldest first or newest first',
      querystring: listQuery,
      response: { 200: listOf(envelopeReply), ...problems(410) },
    },
    handler: async (request) => {
      const { limit, order } = request.query;
      const principal = principalOf(request);
      const { tenantId } = principal;
      const query = { tenantId, ...filterOf(request.query, principal), limit: limit + 1 };
      const reader = LogReader.forTenant(db, tenantId);
      if (order === 'newest') {
        const events = await reader.newest(query, newestStart(request.query, cursors));
        return renderNewest(events, { limit, cursors });
      }
      const start = await pageStart(db, { ...request.query, tenantId, cursors });
      const page = await reader.read(query, start);
      return renderPage(page, { limit, cursors });
    },
  });
}

function installStream(app: RouteApp, { db, cursors }: RouteDeps, options: EventRoutesOptions): void {
  const onError = (error: unknown) =>
    app.log.warn({ err: error }, 'live streams are waiting because events cannot be read');
  const tails = new EventTails({ db, onError, ...options });
  // Runs before the server waits for its connections: streams would hold it up for ever.
  app.addHook('preClose', async () => options.streams.closeAll());
  app.route({
    method: 'GET',
    url: '/api/events/stream',
    // A HEAD request would never end and has nothing to show.
    exposeHeadRoute: false,
    config: { action: 'event.read' },
    schema: {
      tags,
      summary: 'Follow the audit log live',
      description:
        'Server-sent events: `id` is where to continue (the browser sends it as Last-Event-ID by itself), `event` ' +
        'the type, `data` the envelope. Without Last-Event-ID and `after` the stream starts now.',
      produces: ['text/event-stream'],
      querystring: z.strictObject(filterQuery),
      response: { 200: z.string().describe('A stream that stays open'), ...problems(410) },
    },
    handler: async (request, reply) => {
      const principal = principalOf(request);
      const { tenantId } = principal;
      const text = startOf(request, request.query.after);
      const after =
        text === null ? await tails.end(tenantId) : await findPosition(db, { tenantId, text, cursors });
      const write = (position: LogPosition) => cursorOf(position, cursors);
      const stream = options.streams.open(request, reply, write(after));
      const { signal } = stream;
      const filter = filterOf(request.query, principal);
      try {
        await pump(tails.follow({ tenantId, after, filter, signal }), { stream, write });
      } catch (error) {
        if (!isGonePosition(error)) throw error;
        // The stream has ended; whoever connects again is refused with the reason.
        request.log.info({ err: error }, 'a live stream ended because its position in the event log is gone');
      }
      return reply;
    },
  });
}

async function pump(
  batches: AsyncGenerator<EventBatch>,
  { stream, write }: { stream: LiveStream; write: (position: LogPosition) => string },
): Promise<void> {
  try {
    for await (const { events, position } of batches) {
      const frames = events.map(({ event, position: after }) => frameOf(event, write(after)));
      await stream.send(frames, write(position));
    }
  } finally {
    stream.end();
  }
}

function frameOf(event: EventRow, id: string) {
  return { id, event: event.type, data: JSON.stringify(envelopeOf(event)) };
}

function filterOf({ type, subject }: FilterInput, principal: Principal): EventFilter {
  const types = typesIn(type);
  return {
    types: types.length > 0 ? types : undefined,
    subject: subject || undefined,
    ownerId: ownerFilter(principal),
  };
}

function typesIn(value: string | string[] | undefined): string[] {
  return [value ?? []]
    .flat()
    .flatMap((text) => text.split(','))
    .filter((text) => text !== '');
}

async function pageStart(
  db: Database,
  query: { after?: string; cursor?: string; tenantId: string; cursors: Cursors },
): Promise<LogPosition | null> {
  const { cursor, after } = query;
  if (cursor !== undefined) return positionOfCursor(db, { ...query, cursor });
  return after ? findPosition(db, { ...query, text: after }) : null;
}

function newestStart(query: { before?: string; cursor?: string }, cursors: Cursors): number | null {
  if (query.cursor === undefined) return parseEventId(query.before ?? '')?.eventId ?? null;
  const [eventId] = cursors.decode(newestList, query.cursor);
  if (typeof eventId !== 'number')
    throw cursorErrors.raise.invalid_cursor('The cursor belongs to another list');
  return eventId;
}

/** The header wins over the parameter: a browser that reconnects repeats its first URL. */
function startOf(request: FastifyRequest, after: string | undefined): string | null {
  const text = request.headers['last-event-id'] || after;
  return typeof text === 'string' && text !== '' ? text : null;
}

function renderPage(page: LogPage, { limit, cursors }: { limit: number; cursors: Cursors }) {
  const shown = page.events.slice(0, limit);
  const last = page.positions[limit - 1];
  const hasMore = page.events.length > limit && last !== undefined;
  return {
    data: shown.map(envelopeOf),
    has_more: hasMore,
    next_cursor: hasMore ? cursorOf(last, cursors) : null,
  };
}

function renderNewest(events: EventRow[], { limit, cursors }: { limit: number; cursors: Cursors }) {
  const shown = events.slice(0, limit);
  const last = shown.at(-1);
  const hasMore = events.length > limit && last !== undefined;
  return {
    data: shown.map(envelopeOf),
    has_more: hasMore,
    next_cursor: hasMore ? cursors.encode(newestList, [last.eventId]) : null,
  };
}
