import type { Ground, OpenHouse } from '../../kernel/house/house.ts';
import type { OwnDoor } from '../../kernel/house/own-door.ts';
import type { SeamHook } from '../../kernel/house/seams.ts';
import { getJob } from '../../kernel/jobs/dispatch/service.ts';
import type { Kernel } from '../../kernel/jobs/kernel.ts';
import type { Outcome, Pipeline, Slice, SliceResult } from '../../kernel/jobs/types.ts';
import { isSluiceError } from '../../lib/errors.ts';
import { AppTables } from './app-tables.ts';
import { checkInput } from './definitions/input.ts';
import { mostRetries, outcomeOf } from './definitions/retry.ts';
import { ownErrors } from './errors.ts';
import { purgeSlots, takeSlot } from './own-store.ts';
import { runSlice } from './pipelines/own-pipeline.ts';
import { ownRoutes } from './routes.ts';
import { Schedules } from './schedules/schedules.ts';
import { dispatchOwn, dispatchWith, KnownTenants, type OwnDeps, viewOf, waitForEnd } from './service.ts';
import { TaskRun } from './tasks/task-run.ts';
import type { OwnDefinition, PipelineDefinition } from './types.ts';
import { detailsOf } from './views.ts';

export interface OwnHouseOptions extends Pick<Ground, 'kernel' | 'logger' | 'openAppTables' | 'seams'> {
  listed: readonly OwnDefinition[];
}

export async function openOwnHouse(options: OwnHouseOptions): Promise<{ house: OpenHouse; door: OwnDoor }> {
  const { kernel } = options;
  const definitions = byName(options.listed);
  const deps: OwnDeps = { kernel, definitions };
  const tenants = new KnownTenants(kernel);
  const tables = new AppTables(options);
  if (definitions.size > 0) tables.open();
  const schedules = new Schedules(deps, { ...options, tenants });
  await schedules.register();
  schedules.start();
  const house: OpenHouse = {
    pipelines: [...definitions.values()].map((definition) =>
      kernelPipeline(definition, { ...options, tables }),
    ),
    routes: [ownRoutes(deps)],
    details: detailsOf(definitions),
    beforeCycle: () => schedules.run(),
    stop: () => schedules.stop(),
    tasks: [
      {
        name: 'purge_own_slots',
        everyMs: 60 * 60_000,
        run: async () => ({ removed: await kernel.db.kernel(purgeSlots) }),
      },
    ],
  };
  return { house, door: ownDoor(deps, tenants) };
}

function ownDoor(deps: OwnDeps, tenants: KnownTenants): OwnDoor {
  const { kernel } = deps;
  return {
    async dispatch(name, input, { createdBy = 'library', client, ...wish }) {
      if (client) return dispatchWith(deps, client, { name, input, wish: { ...wish, createdBy } });
      await tenants.ensure(wish.tenantId);
      const { jobId } = await dispatchOwn(deps, { name, input, wish: { ...wish, createdBy } });
      return { jobId };
    },
    job: async (key) => viewOf(await getJob(kernel, key)),
    wait: (key, signal) => waitForEnd(deps, key, signal),
  };
}

function byName(listed: readonly OwnDefinition[]): ReadonlyMap<string, OwnDefinition> {
  const definitions = new Map<string, OwnDefinition>();
  for (const definition of listed) {
    if (definitions.has(definition.name)) {
      throw ownErrors.raise.definition_invalid(
        `There are two pipelines or tasks named ${definition.name}; give each a name of its own`,
      );
    }
    definitions.set(definition.name, definition);
  }
  return definitions;
}

interface Running extends Pick<Ground, 'kernel' | 'seams'> {
  tables: AppTables;
}

function kernelPipeline(definition: OwnDefinition, { kernel, tables, seams }: Running): Pipeline {
  const { name, retry } = definition;
  const run = async (slice: Slice, work: (input: unknown) => Promise<SliceResult>): Promise<SliceResult> => {
    const input = await checkInput(definition, slice.job.payload.input);
    const isFree = await takesSlot(kernel, { definition, slice, input });
    return isFree ? work(input) : { outcome: { type: 'wait', delayMs: 50 + Math.random() * 100 } };
  };
  return {
    name,
    maxRetries: mostRetries(retry),
    onError: (error, job): Outcome => {
      // A table that was made since Sluice looked: it is opened, and the slice is done again.
      const wait = isSluiceError(error) && error.code === 'tables_closed' ? tables.openFor(error) : null;
      return wait ?? outcomeOf(error, retry, job.retryCount);
    },
    ...(definition.kind === 'task'
      ? { advance: (slice) => run(slice, (input) => new TaskRun(definition, slice, seams).advance(input)) }
      : pipelineSlices(definition, { run, seams })),
  };
}

type RunSlice = (slice: Slice, work: (input: unknown) => Promise<SliceResult>) => Promise<SliceResult>;

function pipelineSlices(
  definition: PipelineDefinition,
  { run, seams }: { run: RunSlice; seams: SeamHook },
): Pick<Pipeline, 'advance' | 'cleanUp'> {
  const { advance, cleanUp } = definition;
  const slicesOf = (work: PipelineDefinition['advance']) => (slice: Slice) =>
    run(slice, (input) => runSlice(definition, slice, { input, work, seams }));
  return { advance: slicesOf(advance), ...(cleanUp && { cleanUp: slicesOf(cleanUp) }) };
}

/** Whether this slice may run now under the concurrency key of its input. */
async function takesSlot(
  { db }: Kernel,
  { definition, slice, input }: { definition: OwnDefinition; slice: Slice; input: unknown },
): Promise<boolean> {
  const { concurrency, name } = definition;
  if (!concurrency) return true;
  const { tenantId, jobId, leaseEpoch, leasedBy } = slice.job;
  const key = String(concurrency.key(input)).slice(0, maxKeyLength);
  const wish = { tenantId, jobId, leaseEpoch, leasedBy, key, pipeline: name, limit: concurrency.limit };
  return db.tenant(tenantId, (tx) => takeSlot(tx, wish));
}

const maxKeyLength = 500;
