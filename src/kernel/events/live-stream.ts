import type { FastifyReply, FastifyRequest } from 'fastify';

export interface StreamFrame {
  /** Where a client that lost the connection after this frame continues. */
  id: string;
  event: string;
  data: string;
}

/** One open connection that carries events as they happen. */
export interface LiveStream {
  /** Aborted when the stream has ended: the client left, its right ended, it reads too slowly, or the server stops. */
  readonly signal: AbortSignal;
  /** Resolves when the client can take more. `position` is where the client then stands, with or without frames. */
  send(frames: readonly StreamFrame[], position: string): Promise<void>;
  end(): void;
}

/** What the routes need from the HTTP side; src/api/sse.ts implements it. */
export interface LiveStreams {
  /** Takes the reply over. Refuses with `too_many_streams` while nothing has been sent. */
  open(request: FastifyRequest, reply: FastifyReply, position: string): LiveStream;
  closeAll(): void;
}
