import type { AdapterHouse } from '../ingest/adapters/house.ts';
import type { CatalogHouse } from '../ingest/catalog/house.ts';
import { listConnectorAttention } from '../ingest/connectors/connections/attention-store.ts';
import type { ConnectorHouse } from '../ingest/connectors/house.ts';
import type { ItemHouse } from '../ingest/items/house.ts';
import type { KnowledgeHouse } from '../ingest/knowledge/house.ts';
import type { ScrapeHouse } from '../ingest/scrapes/house.ts';
import type { UploadHouse } from '../ingest/uploads/house.ts';
import { listUploadAttention } from '../ingest/uploads/review/attention-store.ts';
import { eventRoutes } from '../kernel/events/routes.ts';
import type { Files } from '../kernel/files/types.ts';
import type { RouteModule } from '../kernel/http/route.ts';
import type { Kernel } from '../kernel/jobs/kernel.ts';
import { jobRoutes } from '../kernel/jobs/routes.ts';
import type { TenantSecrets } from '../kernel/secrets/tenant-secrets.ts';
import { overviewRoutes } from '../kernel/stats/overview.ts';
import { statsRoutes } from '../kernel/stats/routes.ts';
import type { Admissions } from '../kernel/tenancy/provisioning.ts';
import type { Webhooks } from '../kernel/webhooks/webhooks.ts';
import { secretRoutes } from './routes/secrets.ts';
import { tenantErasureRoutes } from './routes/tenant-erasure.ts';
import type { SseStreams } from './sse.ts';

export interface HouseDeps {
  kernel: Kernel;
  streams: SseStreams;
  catalogs: CatalogHouse;
  items: ItemHouse;
  uploads: UploadHouse;
  connectors: ConnectorHouse;
  knowledge: KnowledgeHouse;
  scrapes: ScrapeHouse;
  adapters: AdapterHouse;
  secrets: TenantSecrets;
  webhooks: Webhooks;
  files: Files;
  admissions: Admissions;
}

/** What each pipeline's jobs count as taken in. */
const rowCounters = {
  items: 'total',
  uploads: 'total_rows',
  sync: 'records_synced',
  knowledge: 'chunks_processed',
  scrapes: 'persisted',
};
const attention = [listUploadAttention, listConnectorAttention];

/** The routes of kernel and houses: what the server adds to its own, and what openapi.json describes. */
export function houseRoutes(deps: HouseDeps): RouteModule[] {
  const { wake } = deps.kernel;
  return [
    tenantErasureRoutes(deps),
    jobRoutes(deps.kernel, deps.items.details),
    ...deps.items.routes(deps.kernel),
    ...deps.catalogs.routes(deps.kernel),
    ...deps.uploads.routes(deps.kernel),
    ...deps.connectors.routes(deps.kernel),
    ...deps.knowledge.routes(deps.kernel),
    ...deps.scrapes.routes(deps.kernel),
    deps.adapters.routes,
    secretRoutes(deps.secrets),
    deps.webhooks.routes,
    statsRoutes,
    overviewRoutes({ attention, rowCounters }),
    eventRoutes({ wake, streams: deps.streams }),
  ];
}
