import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import { fastifyMount, nodeHandler, webHandler } from './api/web-handler.ts';
import { openProcess } from './app.ts';
import { type Config, configSecrets, loadConfig } from './config.ts';
import type { OwnDefinition } from './definitions.ts';
import type { Installation } from './installation.ts';
import { grantDispatch } from './kernel/house/app-tables-store.ts';
import type { SeamHook } from './kernel/house/seams.ts';
import { createLogger } from './lib/log.ts';
import type { Connections } from './lib/postgres/connections.ts';
import { SecretScrubber } from './lib/secret-scrubber.ts';
import { settingsErrors } from './lib/settings/settings.ts';
import { ClosingOrder } from './lib/timing/closing.ts';
import type { Sluice, SluiceOptions } from './open-sluice.ts';

/** Opens Sluice with what is behind it, which the test kit needs. */
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
async function configure(options: SluiceOptions) {
  const { databaseUrl, dataDir, schema = 'public', work, concurrency, settings, onLog } = options;
  if (schema !== 'public') {
    throw settingsErrors.raise.configuration_invalid(
      `The schema is ${JSON.stringify(schema)}. Allowed: public. The functions of Sluice have it in their paths; ` +
        'give Sluice a database of its own, or one whose schema public has no table of the same name',
    );
  }
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
