import type { Query, QueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { ApiProblem } from './client.ts';
import { FrameReader } from './event-frames.ts';
import { type Area, areas, areasTouchedBy } from './live-areas.ts';
import type { Event } from './types.ts';

export type LiveState =
  /** Before the first response. */
  | { kind: 'connecting' }
  | { kind: 'streaming' }
  /** The server responds, but not with a stream: everything on screen is loaded again every few seconds. */
  | { kind: 'polling' }
  | { kind: 'offline'; since: Date };

/** A list that was scrolled further is only marked as out of date: reloading it would take many requests. */
const askedAgainPages = 3;
const longestPauseMs = 10_000;
/** The server sends a heartbeat every 15 s; a stream that is silent for longer is dead. */
const silenceMs = 40_000;
const hiddenMs = 10_000;

export interface LiveOptions {
  url?: string;
  /** Between two polls while there is no stream. */
  pollMs?: number;
  firstPauseMs?: number;
  throttleMs?: number;
}

/**
 * The audit log of the tenant, live, once per tab. Read with fetch: an EventSource passes over types that it was not
 * told beforehand, and does not say why it was refused.
 */
export class Live {
  readonly #client: QueryClient;
  readonly #options: Required<LiveOptions>;
  readonly #listeners = new Set<() => void>();
  readonly #eventListeners = new Set<(event: Event) => void>();
  readonly #touched = new Set<Area>();
  #state: LiveState = { kind: 'connecting' };
  #lastId: string | null = null;
  #stop: AbortController | null = null;
  #hiddenTimer: ReturnType<typeof setTimeout> | null = null;
  #flushTimer: ReturnType<typeof setTimeout> | null = null;

  constructor(client: QueryClient, options: LiveOptions = {}) {
    this.#client = client;
    this.#options = {
      url: '/api/events/stream',
      pollMs: 5_000,
      firstPauseMs: 500,
      // Events come in bursts; queries on screen are loaded again at most this often.
      throttleMs: 1_000,
      ...options,
    };
  }

  get state(): LiveState {
    return this.#state;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly onEvent = (listener: (event: Event) => void): (() => void) => {
    this.#eventListeners.add(listener);
    return () => this.#eventListeners.delete(listener);
  };

  start(): void {
    globalThis.document?.addEventListener('visibilitychange', this.#onVisibility);
    this.#open();
  }

  stop(): void {
    globalThis.document?.removeEventListener('visibilitychange', this.#onVisibility);
    this.#close();
    this.#lastId = null;
    this.#become({ kind: 'connecting' });
  }

  /** Over HTTP/1.1 a browser has six connections for all its tabs: hidden tabs must not hold them. */
  readonly #onVisibility = (): void => {
    if (this.#hiddenTimer !== null) clearTimeout(this.#hiddenTimer);
    this.#hiddenTimer = null;
    if (document.visibilityState === 'visible') this.#open();
    else this.#hiddenTimer = setTimeout(() => this.#close(), hiddenMs);
  };

  /** Continues after the last event that was seen. */
  #open(): void {
    if (this.#stop !== null) return;
    this.#stop = new AbortController();
    void this.#run(this.#stop.signal);
  }

  #close(): void {
    this.#stop?.abort();
    this.#stop = null;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { firstPauseMs, pollMs } = this.#options;
    let pauseMs = firstPauseMs;
    while (!signal.aborted) {
      const outcome = await this.#follow(signal);
      if (signal.aborted || outcome === 'refused') return;
      pauseMs = outcome === 'ended' ? firstPauseMs : Math.min(pauseMs * 2, longestPauseMs);
      if (outcome === 'unstreamed') this.#touch(areas);
      await pause(outcome === 'unstreamed' ? pollMs : pauseMs, signal);
    }
  }

  /** One connection, to its end. */
  async #follow(signal: AbortSignal): Promise<'ended' | 'refused' | 'unstreamed' | 'unreachable'> {
    const silence = new AbortController();
    const both = AbortSignal.any([signal, silence.signal]);
    let watch = setTimeout(() => silence.abort(), silenceMs);
    try {
      const headers: Record<string, string> = { accept: 'text/event-stream' };
      if (this.#lastId !== null) headers['last-event-id'] = this.#lastId;
      const response = await fetch(this.#options.url, {
        headers,
        signal: both,
        credentials: 'same-origin',
      });
      if (!response.ok || response.body === null) return this.#unstreamed(response.status);
      this.#connected();
      const reader = new FrameReader();
      const pieces = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let piece = await pieces.read(); !piece.done; piece = await pieces.read()) {
        clearTimeout(watch);
        watch = setTimeout(() => silence.abort(), silenceMs);
        for (const { id, event } of reader.read(piece.value)) {
          if (id !== null) this.#lastId = id;
          if (event !== null) this.#take(event);
        }
      }
      return 'ended';
    } catch {
      if (!signal.aborted) this.#offline();
      return 'unreachable';
    } finally {
      clearTimeout(watch);
    }
  }

  #unstreamed(status: number): 'ended' | 'refused' | 'unstreamed' | 'unreachable' {
    if (status === 401) {
      // If the session has ended, the next query returns 401 and leads to the login.
      void this.#client.invalidateQueries({ queryKey: ['me'] });
      return 'refused';
    }
    if (status === 410) {
      // The database was restored: what was seen last is gone, so everything is loaded anew and followed from now on.
      this.#lastId = null;
      this.#touch(areas);
      return 'ended';
    }
    if (status >= 500) {
      this.#offline();
      return 'unreachable';
    }
    this.#become({ kind: 'polling' });
    return 'unstreamed';
  }

  #connected(): void {
    // Last-Event-ID brings the events that were missed; queries that failed meanwhile are loaded again.
    if (this.#state.kind === 'offline' || this.#state.kind === 'polling') this.#touch(areas);
    this.#become({ kind: 'streaming' });
  }

  #offline(): void {
    if (this.#state.kind !== 'offline') this.#become({ kind: 'offline', since: new Date() });
  }

  #take(event: Event): void {
    for (const listener of this.#eventListeners) listener(event);
    this.#touch(areasTouchedBy(event));
  }

  #touch(touched: readonly Area[]): void {
    for (const area of touched) this.#touched.add(area);
    this.#flushTimer ??= setTimeout(() => this.#flush(), this.#options.throttleMs);
  }

  #flush(): void {
    this.#flushTimer = null;
    const touched = [...this.#touched];
    this.#touched.clear();
    // The log announces new events by itself and need not be loaded again.
    for (const area of touched.filter((name) => name !== 'events')) {
      const queryKey = [area];
      const isLong = (query: Query) => pageCount(query.state.data) > askedAgainPages;
      void this.#client.invalidateQueries(
        { queryKey, predicate: (query) => !isLong(query) },
        { cancelRefetch: false },
      );
      void this.#client.invalidateQueries({ queryKey, predicate: isLong, refetchType: 'none' });
    }
  }

  #become(state: LiveState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}

export function useLiveState(live: Live): LiveState {
  return useSyncExternalStore(live.subscribe, () => live.state);
}

/** Whether a retry could help; not if the server understood the request and refused it. */
export function isPassing(error: unknown): boolean {
  return !(error instanceof ApiProblem) || error.status === 0 || error.status >= 500 || error.status === 429;
}

/** The number of pages of an infinite list; 0 for other queries. */
function pageCount(data: unknown): number {
  const pages = typeof data === 'object' && data !== null && 'pages' in data ? data.pages : [];
  return Array.isArray(pages) ? pages.length : 0;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
