import { type IncomingMessage, request } from 'node:http';
import { type SseOptions, SseStreams } from '../../../src/api/sse.ts';
import { eventRoutes } from '../../../src/kernel/events/routes.ts';
import type { EventEnvelope } from '../../../src/kernel/events/types.ts';
import type { RouteModule } from '../../../src/kernel/http/route.ts';
import { WakeUp } from '../../../src/kernel/jobs/wake-up.ts';
import { createAuthenticator } from '../../../src/kernel/tenancy/service.ts';
import { type Clock, systemClock } from '../../../src/lib/timing/clock.ts';
import { testTokens } from '../servers/server.ts';
import { eventually } from '../worlds/kernel.ts';

/** The routes of events with streams and a wake-up of their own, as a process has: the rest is found by looking. */
export function liveEvents(options: Partial<SseOptions>, clock: Clock = systemClock): RouteModule {
  return (app, deps) => {
    const authenticator = createAuthenticator({ db: deps.db, clock, tokens: testTokens });
    const streams = new SseStreams({ authenticator, ...options });
    eventRoutes({ wake: new WakeUp(deps.db), streams, pollMs: 100 })(app, deps);
  };
}

export interface ReceivedEvent {
  id: string;
  event: string;
  data: EventEnvelope;
}

export interface EventSource {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly events: ReceivedEvent[];
  readonly comments: string[];
  /** What a browser would send as Last-Event-ID. */
  readonly lastEventId: string;
  readonly isEnded: boolean;
  /** The body, for responses that are not a stream. */
  readonly text: string;
  subjects(): string[];
  /** Waits until that many events have come. */
  count(events: number): Promise<void>;
  ended(): Promise<void>;
  /** Stops reading, like a client that hangs. */
  pause(): void;
  resume(): void;
  close(): void;
}

/** Reads server-sent events as the standard says: a block ends with an empty line, and without data it is no event. */
export async function openEventSource(url: string, headers: Record<string, string>): Promise<EventSource> {
  const sent = request(url, { headers, agent: false });
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    sent.on('response', resolve).on('error', reject).end();
  });
  const state = { events: [] as ReceivedEvent[], comments: [] as string[], lastEventId: '', isEnded: false };
  let text = '';
  let rest = '';
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    text += chunk;
    rest += chunk;
    for (let end = rest.indexOf('\n\n'); end !== -1; end = rest.indexOf('\n\n')) {
      readBlock(rest.slice(0, end), state);
      rest = rest.slice(end + 2);
    }
  });
  response.on('close', () => {
    state.isEnded = true;
  });
  response.on('error', () => {});
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    events: state.events,
    comments: state.comments,
    get lastEventId() {
      return state.lastEventId;
    },
    get isEnded() {
      return state.isEnded;
    },
    get text() {
      return text;
    },
    subjects: () => state.events.map(({ data }) => data.subject),
    count: (events) => eventually(async () => state.events.length >= events, `${events} events arrive`),
    ended: () => eventually(async () => state.isEnded, 'the stream ends'),
    pause: () => response.pause(),
    resume: () => response.resume(),
    close: () => sent.destroy(),
  };
}

function readBlock(
  block: string,
  state: { events: ReceivedEvent[]; comments: string[]; lastEventId: string },
) {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (name === '') state.comments.push(value);
    else fields.set(name, value);
  }
  state.lastEventId = fields.get('id') ?? state.lastEventId;
  const found = fields.get('data');
  if (found === undefined) return;
  state.events.push({
    id: state.lastEventId,
    event: fields.get('event') ?? 'message',
    data: JSON.parse(found),
  });
}
