import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import { fastifyMount, type Mounted, nodeHandler, webHandler } from './api/web-handler.ts';
import { openProcess } from './app.ts';
import { type Config, configSecrets, loadConfig } from './config.ts';
import type { OwnDefinition } from './houses.ts';
import type { Installation } from './installation.ts';
import { grantDispatch } from './kernel/house/app-tables-store.ts';
import type { DispatchClient, OwnJobState } from './kernel/house/doors.ts';
import type { SeamHook } from './kernel/house/seams.ts';
import { createLogger } from './lib/log.ts';
import type { Connections } from './lib/postgres/connections.ts';
import { SecretScrubber } from './lib/secret-scrubber.ts';
import { ClosingOrder } from './lib/timing/closing.ts';

export interface SluiceOptions<
  P extends OwnDefinition = OwnDefinition,
  T extends OwnDefinition = OwnDefinition,
> {
  /** PostgreSQL 15 or newer, as its owner. Default: an embedded one in `dataDir`. */
  databaseUrl?: string;
  /** Where the embedded database, files and secrets are kept. Default: `./.sluice`. */
  dataDir?: string;
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
  readonly handler: ReturnType<typeof nodeHandler>;
  /** The same for Fastify: `await app.register(sluice.fastify, { prefix: '/sluice' })`. */
  readonly fastify: ReturnType<typeof fastifyMount>;
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
  return (await openEmbedded<P, T>(options)).sluice;
}

/** The same with what is behind it, for the test kit. */
export async function openEmbedded<P extends OwnDefinition, T extends OwnDefinition>(
  options: SluiceOptions<P, T>,
  { seams }: { seams?: SeamHook } = {},
): Promise<{ sluice: Sluice<P | T>; base: Installation }> {
  const { config, logger, scrubber } = await configure(options);
  const closing = new ClosingOrder((sentence, err) => logger.error({ err }, sentence));
  const definitions = { pipelines: options.pipelines ?? [], tasks: options.tasks ?? [] };
  try {
    const process = { config, logger, scrubber, definitions, ...(seams && { seams }) };
    const { base, server, readiness } = await openProcess(process, closing);
    let stopped: Promise<void> | null = null;
    const stop = () => {
      readiness.close();
      stopped ??= closing.closeAll();
      return stopped;
    };
    return { sluice: { ...facadeOf(base, server), stop }, base };
  } catch (error) {
    await closing.closeAll();
    throw error;
  }
}

function facadeOf(base: Installation, server: FastifyInstance): Omit<Sluice, 'stop'> {
  const own = base.doors.get('own');
  return {
    databaseUrl: base.connections.ownerUrl ?? '',
    dispatch: (name, input, wish) => own.dispatch(name, input, wish),
    job: (tenantId, jobId) => own.job({ tenantId, jobId }),
    wait: (tenantId, jobId, { signal } = {}) => own.wait({ tenantId, jobId }, signal),
    fetch: webHandler(server),
    handler: nodeHandler(server),
    fastify: fastifyMount(server),
    grantDispatch: async (role) => grantDispatch(ownerOf(base.connections), role),
  };
}

function ownerOf({ ownerUrl }: Connections): string {
  if (ownerUrl !== null) return ownerUrl;
  throw new Error('Only a process that has the owner’s databaseUrl can grant rights');
}

/** Only what the caller says counts: the environment and the files around are another program's. */
async function configure({ databaseUrl, dataDir, work, concurrency, settings, onLog }: SluiceOptions) {
  const given = {
    databaseUrl,
    dataDir: dataDir && path.resolve(dataDir),
    worker: work,
    workerConcurrency: concurrency,
  };
  const flags = { ...settings, ...given } as Partial<Record<keyof Config, unknown>>;
  const { config } = await loadConfig({ flags, env: {}, readsFiles: false });
  const scrubber = new SecretScrubber(configSecrets(config));
  const stream = { write: (line: string) => onLog?.(line) };
  const logger = createLogger({ level: onLog ? config.logLevel : 'silent', scrubber, stream });
  return { config, logger, scrubber };
}
