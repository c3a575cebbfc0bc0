import type { FastifyInstance } from 'fastify';
import { clientSignal } from '../../kernel/http/client-signal.ts';
import { principalOf, type Share } from '../../kernel/http/route.ts';
import { TenantSlots } from '../../kernel/limits/tenant-slots.ts';
import type { KernelConfig } from '../../kernel/settings.ts';

type ShareConfig = Pick<KernelConfig, 'tenantConcurrentSearches' | 'tenantConcurrentUploads'>;

/**
 * Bounds how much costly work of one tenant the process does at once: a route says which share it takes from. The
 * slot is held until the handler has ended, not until the client has gone: otherwise clients that hang up at once
 * could start any amount of work.
 */
export function installTenantShares(app: FastifyInstance, config: ShareConfig): void {
  const shares: Record<Share, TenantSlots> = {
    searches: new TenantSlots({
      what: 'searches',
      setting: 'TENANT_CONCURRENT_SEARCHES',
      perTenant: config.tenantConcurrentSearches,
    }),
    uploads: new TenantSlots({
      what: 'uploads',
      setting: 'TENANT_CONCURRENT_UPLOADS',
      perTenant: config.tenantConcurrentUploads,
    }),
  };
  app.addHook('onRoute', (route) => {
    const share = route.config?.share;
    if (share === undefined) return;
    const { handler } = route;
    route.handler = function (request, reply) {
      const { tenantId } = principalOf(request);
      const work = async () => handler.call(this, request, reply);
      return shares[share].run(tenantId, work, clientSignal(reply));
    };
  });
}
