import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyHost, Mounted } from './api/mounting.ts';
import type { OwnDefinition } from './definitions.ts';
import type { DispatchClient, OwnJobState } from './kernel/house/own-door.ts';

export interface SluiceOptions<
  P extends OwnDefinition = OwnDefinition,
  T extends OwnDefinition = OwnDefinition,
> {
  /** PostgreSQL 15 or newer, as its owner. Default: an embedded one in `dataDir`. */
  databaseUrl?: string;
  /** Where the embedded database, files and secrets are kept. Default: `./.sluice`. */
  dataDir?: string;
  /** Sluice lives in the schema `public`; another one is refused (docs/decisions/0004). */
  schema?: string;
  pipelines?: readonly P[];
  tasks?: readonly T[];
  /** False: this process takes no jobs; it dispatches, and others work. Default: true. */
  work?: boolean;
  /** How many slices run at a time here. Default: 8. */
  concurrency?: number;
  /** Any other setting of docs/configuration.md, by its name in sluice.config.mjs. */
  settings?: Record<string, unknown>;
  /** Gets each log line, as JSON. Default: nothing is logged. */
  onLog?: (line: string) => void;
}

type NamesOf<Definition extends OwnDefinition> = Definition['name'];
type InputOf<Definition extends OwnDefinition, Name extends string> = NonNullable<
  Extract<Definition, { name: Name }>['~types']
>['input'];

export interface DispatchOptions {
  /** A tenant that is new is made. */
  tenantId: string;
  /** What the job is about; of one subject there is one active job at a time. */
  subjectId?: string;
  /** Not before. */
  runAt?: Date;
  /**
   * A `pg` client inside your transaction, or anything with its `query`: the job is made if and when you commit. Its
   * login needs `grantDispatch`.
   */
  client?: DispatchClient;
}

/** Sluice inside another program. */
export interface Sluice<Definition extends OwnDefinition = OwnDefinition> {
  /** Where the application's own tables can be: the owner's login. */
  readonly databaseUrl: string;
  dispatch<Name extends NamesOf<Definition>>(
    name: Name,
    input: InputOf<Definition, Name>,
    options: DispatchOptions,
  ): Promise<{ jobId: string }>;
  /** The job as it is now. */
  job(tenantId: string, jobId: string): Promise<OwnJobState>;
  /** Resolves when the job has ended, however it ended. */
  wait(tenantId: string, jobId: string, options?: { signal?: AbortSignal }): Promise<OwnJobState>;
  /** API and console as a web-standard handler. `prefix` is where it lies in your server, such as `/sluice`. */
  fetch(request: Request, mounted?: Mounted): Promise<Response>;
  /** The same for Express and others on node:http: `app.use('/sluice', sluice.handler)`, before any body parser. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void;
  /** The same for Fastify: `await app.register(sluice.fastify, { prefix: '/sluice' })`. */
  readonly fastify: (host: FastifyHost) => Promise<void>;
  /** Lets a login of yours dispatch in its own transactions. It can do nothing else by it. */
  grantDispatch(role: string): Promise<void>;
  /** Lets slices in flight end within the grace period, then closes everything. */
  stop(): Promise<void>;
}

/** Opens Sluice in this process. It handles no signals, prints nothing, and stops when `stop` is called. */
export async function openSluice<
  const P extends OwnDefinition = never,
  const T extends OwnDefinition = never,
>(options: SluiceOptions<P, T> = {}): Promise<Sluice<P | T>> {
  // Loaded only now, so that a file which only defines something loads nothing of the server.
  const { openEmbedded } = await import('./embedded.ts');
  return (await openEmbedded<P, T>(options)).sluice;
}
