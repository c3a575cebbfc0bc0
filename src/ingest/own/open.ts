import type { OwnDoor } from '../../kernel/house/doors.ts';
import type { Ground, OpenHouse } from '../../kernel/house/house.ts';
import { getJob } from '../../kernel/jobs/dispatch/service.ts';
import type { Outcome, Pipeline } from '../../kernel/jobs/types.ts';
import { isSluiceError } from '../../lib/errors.ts';
import { AppTables } from './app-tables.ts';
import { checkInput } from './definitions/input.ts';
import { mostRetries, outcomeOf } from './definitions/retry.ts';
import { ownErrors } from './errors.ts';
import { ownPipeline } from './pipelines/own-pipeline.ts';
import { ownRoutes } from './routes.ts';
import { dispatchOwn, KnownTenants, type OwnDeps, viewOf, waitForEnd } from './service.ts';
import { TaskRun } from './tasks/task-run.ts';
import type { OwnDefinition, TaskDefinition } from './types.ts';
import { detailsOf } from './views.ts';

export interface OwnHouseOptions extends Pick<Ground, 'kernel' | 'logger' | 'openAppTables'> {
  listed: readonly OwnDefinition[];
}

export function openOwnHouse(options: OwnHouseOptions): { house: OpenHouse; door: OwnDoor } {
  const { kernel } = options;
  const definitions = byName(options.listed);
  const deps: OwnDeps = { kernel, definitions };
  const tenants = new KnownTenants(kernel);
  const tables = new AppTables(options);
  if (definitions.size > 0) tables.open();
  const door: OwnDoor = {
    async dispatch(name, input, { createdBy = 'library', ...wish }) {
      await tenants.ensure(wish.tenantId);
      const { jobId } = await dispatchOwn(deps, { name, input, wish: { ...wish, createdBy } });
      return { jobId };
    },
    job: async (key) => viewOf(await getJob(kernel, key)),
    wait: (key, signal) => waitForEnd(deps, key, signal),
  };
  const house: OpenHouse = {
    pipelines: [...definitions.values()].map((definition) => kernelPipeline(definition, tables)),
    routes: [ownRoutes(deps)],
    details: detailsOf(definitions),
  };
  return { house, door };
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

function kernelPipeline(definition: OwnDefinition, tables: AppTables): Pipeline {
  const onError = (error: unknown, job: { retryCount: number }): Outcome => {
    // A table that was made since Sluice looked: it is opened, and the slice is done again.
    const wait = isSluiceError(error) && error.code === 'tables_closed' ? tables.openFor(error) : null;
    return wait ?? outcomeOf(error, definition.retry, job.retryCount);
  };
  if (definition.kind === 'pipeline') return { ...ownPipeline(definition), onError };
  return { ...taskPipeline(definition), onError };
}

function taskPipeline(definition: TaskDefinition): Omit<Pipeline, 'onError'> {
  return {
    name: definition.name,
    maxRetries: mostRetries(definition.retry),
    advance: async (slice) => {
      const input = await checkInput(definition, slice.job.payload.input);
      return new TaskRun(definition, slice).advance(input);
    },
  };
}
