import type { IncomingMessage, ServerResponse } from 'node:http';

/** For a handler that lies below a path of somebody else's server. */
export interface Mounted {
  /** Where it lies, such as `/sluice`; what the request's path begins with. */
  prefix?: string;
  /** The client's address, for limits of those who have not logged in. */
  address?: string;
}

/** What a plugin needs of the Fastify that it is registered with, whatever its version or logger. */
export interface FastifyHost {
  prefix: string;
  removeAllContentTypeParsers(): void;
  addContentTypeParser(
    type: string,
    parser: (request: unknown, payload: unknown, done: (error: Error | null) => void) => void,
  ): unknown;
  all(path: string, handler: (request: HostRequest, reply: HostReply) => void): unknown;
}

export interface HostRequest {
  raw: IncomingMessage;
}

export interface HostReply {
  raw: ServerResponse;
  hijack(): unknown;
}
