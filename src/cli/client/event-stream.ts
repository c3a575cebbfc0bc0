import { pause } from '../../lib/timing/abort.ts';
import { CommandFailure } from '../terminal/exit.ts';
import type { Client, Query } from './client.ts';

export interface Frame {
  /** Where to continue after this frame. */
  id: string;
  /** Null when only the position has moved. */
  data: string | null;
}

export interface FollowOptions {
  query: Query;
  signal: AbortSignal;
  /** Called once, when no later event can be missed any more. */
  onFirstOpen: () => Promise<void>;
  /** Sentences for a person: the server is away, the server is back. */
  onNotice: (text: string) => void;
  maxOutageMs?: number;
}

const firstPauseMs = 200;
const longestPauseMs = 5_000;
export const defaultMaxOutageMs = 15 * 60_000;

/**
 * The events of a server, each once and in order, even if it goes away in between: the next connection continues
 * after the last event. A server that is away from the start, or for too long, is a failure.
 */
export async function* followEvents(client: Client, options: FollowOptions): AsyncGenerator<string> {
  const { query, signal, maxOutageMs = defaultMaxOutageMs } = options;
  const outage = new Outage(maxOutageMs, options.onNotice);
  let lastId: string | null = null;
  while (!signal.aborted) {
    try {
      const headers: Record<string, string> = lastId === null ? {} : { 'last-event-id': lastId };
      const chunks = await client.stream('/api/events/stream', { query, headers, signal });
      if (lastId === null) await options.onFirstOpen();
      for await (const frame of readFrames(chunks)) {
        outage.end();
        lastId = frame.id;
        if (frame.data !== null) yield frame.data;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (lastId === null || !(error instanceof CommandFailure) || !error.isPassing) throw error;
      outage.note(error);
    }
    await pause(outage.nextPauseMs(), signal);
  }
}

/** How long a server has been away: says so once, and throws when it has been too long. */
export class Outage {
  readonly #maxMs: number;
  readonly #onNotice: (text: string) => void;
  #sinceMs: number | null = null;
  #pauseMs = firstPauseMs;

  constructor(maxMs: number, onNotice: (text: string) => void) {
    this.#maxMs = maxMs;
    this.#onNotice = onNotice;
  }

  /** Reports it once; throws when it has lasted too long. */
  note(error: CommandFailure): void {
    const now = performance.now();
    if (this.#sinceMs === null) this.#onNotice(`${error.message} Trying again …`);
    this.#sinceMs ??= now;
    if (now - this.#sinceMs > this.#maxMs) throw error;
  }

  end(): void {
    if (this.#sinceMs !== null) this.#onNotice('The server is back.');
    this.#sinceMs = null;
    this.#pauseMs = firstPauseMs;
  }

  /** Sends a request. Returns null while the server is away and expected back. */
  async bridge<T>(request: () => Promise<T>, signal: AbortSignal): Promise<T | null> {
    try {
      const answer = await request();
      this.end();
      return answer;
    } catch (error) {
      if (signal.aborted || !(error instanceof CommandFailure) || !error.isPassing) throw error;
      this.note(error);
      return null;
    }
  }

  nextPauseMs(): number {
    const pauseMs = this.#pauseMs;
    this.#pauseMs = Math.min(pauseMs * 2, longestPauseMs);
    return pauseMs;
  }
}

const maxFrameLength = 8 * 1024 * 1024;

/** Server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html */
export async function* readFrames(chunks: AsyncIterable<string>): AsyncGenerator<Frame> {
  let rest = '';
  let id = '';
  for await (const chunk of chunks) {
    const blocks = (rest + chunk).replaceAll('\r\n', '\n').split('\n\n');
    rest = blocks.pop() ?? '';
    if (rest.length > maxFrameLength) throw new Error('The server sent an event that is too long');
    for (const block of blocks) {
      const fields = block.split('\n').map(parseField);
      id = fields.findLast(({ name }) => name === 'id')?.value ?? id;
      const data = fields.filter(({ name }) => name === 'data').map(({ value }) => value);
      if (id !== '') yield { id, data: data.length === 0 ? null : data.join('\n') };
    }
  }
}

function parseField(line: string): { name: string; value: string } {
  const colon = line.indexOf(':');
  if (colon === -1) return { name: line, value: '' };
  return { name: line.slice(0, colon), value: line.slice(colon + 1).replace(/^ /, '') };
}
