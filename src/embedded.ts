import path from 'node:path';
import { openProcess } from './app.ts';
import { type Config, configSecrets, loadConfig } from './config.ts';
import type { OwnDefinition } from './houses.ts';
import type { OwnJobState } from './kernel/house/doors.ts';
import { createLogger } from './lib/log.ts';
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
  /** Lets slices in flight end within the grace period, then closes everything. */
  stop(): Promise<void>;
}

/** Opens Sluice in this process. It handles no signals, prints nothing, and stops when `stop` is called. */
export async function openSluice<
  const P extends OwnDefinition = never,
  const T extends OwnDefinition = never,
>(options: SluiceOptions<P, T> = {}): Promise<Sluice<P | T>> {
  const { config, logger, scrubber } = await configure(options);
  const closing = new ClosingOrder((sentence, err) => logger.error({ err }, sentence));
  const definitions = { pipelines: options.pipelines ?? [], tasks: options.tasks ?? [] };
  try {
    const { base, readiness } = await openProcess({ config, logger, scrubber, definitions }, closing);
    const own = base.doors.get('own');
    let stopped: Promise<void> | null = null;
    return {
      databaseUrl: base.connections.ownerUrl ?? '',
      dispatch: (name, input, wish) => own.dispatch(name, input, wish),
      job: (tenantId, jobId) => own.job({ tenantId, jobId }),
      wait: (tenantId, jobId, { signal } = {}) => own.wait({ tenantId, jobId }, signal),
      stop: () => {
        readiness.close();
        stopped ??= closing.closeAll();
        return stopped;
      },
    };
  } catch (error) {
    await closing.closeAll();
    throw error;
  }
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
