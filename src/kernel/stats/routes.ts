import { z } from 'zod';
import type { Tx } from '../../lib/postgres/db.ts';
import { problems } from '../http/replies.ts';
import { principalOf, type RouteApp, type RouteDeps, type RouteModule } from '../http/route.ts';
import { can } from '../tenancy/rights.ts';
import { ownerFilter } from '../tenancy/types.ts';
import type { Scope } from './types.ts';
import { type ProcessStatistic, processStatistics, type Statistic, statistics } from './views.ts';

const tags = ['stats'];

/** Statistics are short lists of one shape: about the caller's tenant (a member: own jobs), or about processes. */
export const statsRoutes: RouteModule = (app, deps) => {
  for (const statistic of statistics) installStatistic(app, deps, statistic);
  for (const statistic of processStatistics) installProcessStatistic(app, deps, statistic);
};

function installStatistic(app: RouteApp, { db }: RouteDeps, { url, summary, row, read }: Statistic): void {
  app.route({
    method: 'GET',
    url,
    config: { action: 'stats.read' },
    schema: { tags, summary, response: { 200: z.object({ data: z.array(row) }), ...problems() } },
    handler: async (request) => {
      const principal = principalOf(request);
      const scope: Scope = { tenantId: principal.tenantId, ownerId: ownerFilter(principal) };
      return { data: await db.read(principal.tenantId, (tx: Tx) => read(tx, scope)) };
    },
  });
}

/** Workers and upkeep serve all tenants alike and hold nothing of any tenant. Only administrators see machines. */
function installProcessStatistic(app: RouteApp, { db }: RouteDeps, statistic: ProcessStatistic): void {
  const { url, summary, row, read } = statistic;
  app.route({
    method: 'GET',
    url,
    config: { action: 'stats.read' },
    schema: { tags, summary, response: { 200: z.object({ data: z.array(row) }), ...problems() } },
    handler: async (request) => {
      const seesHosts = can(principalOf(request).role, 'installation.read');
      return { data: await db.readAcross((tx) => read(tx, { seesHosts })) };
    },
  });
}
