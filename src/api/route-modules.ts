import { eventRoutes } from '../kernel/events/routes.ts';
import type { Files } from '../kernel/files/types.ts';
import { kernelFindables } from '../kernel/find/kernel-store.ts';
import { findRoutes } from '../kernel/find/routes.ts';
import type { OpenHouse } from '../kernel/house/house.ts';
import type { RouteModule } from '../kernel/http/route.ts';
import { type Kernel, pipelinesOf } from '../kernel/jobs/kernel.ts';
import { jobNames, type SubjectNames } from '../kernel/jobs/names.ts';
import { type JobDetails, jobRoutes } from '../kernel/jobs/routes.ts';
import type { TenantSecrets } from '../kernel/secrets/tenant-secrets.ts';
import { overviewRoutes } from '../kernel/stats/overview.ts';
import { statsRoutes } from '../kernel/stats/routes.ts';
import type { Admissions } from '../kernel/tenancy/provisioning.ts';
import type { Webhooks } from '../kernel/webhooks/webhooks.ts';
import { secretRoutes } from './routes/secrets.ts';
import { tenantErasureRoutes } from './routes/tenant-erasure.ts';
import type { SseStreams } from './sse.ts';

export interface RouteModuleDeps {
  kernel: Kernel;
  streams: SseStreams;
  houses: readonly OpenHouse[];
  secrets: TenantSecrets;
  webhooks: Webhooks;
  files: Files;
  admissions: Admissions;
}

/** The routes of kernel and houses: what the server adds to its own, and what openapi.json describes. */
export function routeModules({ kernel, houses, ...deps }: RouteModuleDeps): RouteModule[] {
  const subjectNames = subjectNamesOf(houses);
  const attention = houses.flatMap((house) => house.attention ?? []);
  return [
    tenantErasureRoutes(deps),
    jobRoutes(kernel, detailsOf(houses), subjectNames),
    findRoutes({
      db: kernel.db,
      findables: [...houses.flatMap((house) => house.findables ?? []), ...kernelFindables],
      namesOf: jobNames(kernel.db, subjectNames),
    }),
    ...houses.flatMap((house) => house.routes ?? []),
    secretRoutes(deps.secrets),
    deps.webhooks.routes,
    statsRoutes,
    overviewRoutes({ attention, rowCounters: rowCountersOf(houses) }),
    eventRoutes({ wake: kernel.wake, streams: deps.streams }),
  ];
}

/** Each house is asked about the jobs of its own pipeline. */
function detailsOf(houses: readonly OpenHouse[]): JobDetails {
  return async (tenantId, jobs) => {
    const found = new Map<string, object>();
    for (const { details, ...guest } of houses) {
      const names = pipelinesOf(guest).map(({ name }) => name);
      const own = jobs.filter((job) => names.includes(job.pipeline));
      if (own.length === 0 || details === undefined) continue;
      for (const [jobId, more] of await details(tenantId, own)) found.set(jobId, more);
    }
    return found;
  };
}

function subjectNamesOf(houses: readonly OpenHouse[]): Map<string, SubjectNames> {
  const sources = houses.flatMap(({ pipeline, subjectNames, guestNames }) => [
    ...(pipeline && subjectNames ? [{ pipeline: pipeline.name, names: subjectNames }] : []),
    ...(guestNames ? [guestNames] : []),
  ]);
  return new Map(
    sources.map(({ pipeline }) => [
      pipeline,
      async (tx, asked) => {
        const found: Awaited<ReturnType<SubjectNames>> = [];
        for (const each of sources)
          if (each.pipeline === pipeline) found.push(...(await each.names(tx, asked)));
        return found;
      },
    ]),
  );
}

/** What each pipeline's jobs count as taken in. */
function rowCountersOf(houses: readonly OpenHouse[]): Record<string, string> {
  return Object.fromEntries(
    houses.flatMap(({ pipeline, rowCounter }) =>
      pipeline && rowCounter ? [[pipeline.name, rowCounter]] : [],
    ),
  );
}
