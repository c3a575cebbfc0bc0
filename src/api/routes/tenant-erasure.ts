import { z } from 'zod';
import type { Files } from '../../kernel/files/types.ts';
import { problems } from '../../kernel/http/replies.ts';
import type { RouteModule } from '../../kernel/http/route.ts';
import { eraseTenant } from '../../kernel/tenancy/erasure.ts';
import type { Admissions } from '../../kernel/tenancy/provisioning.ts';
import { isUsableId } from '../../kernel/tenancy/types.ts';
import { toSnakeCase } from '../../lib/snake-case.ts';

const counts = z.record(z.string(), z.int());

export function tenantErasureRoutes(deps: { files: Files; admissions: Admissions }): RouteModule {
  return (app, { db }) => {
    app.route({
      method: 'DELETE',
      url: '/api/tenants/:tenant_id',
      config: { action: 'tenant.manage' },
      schema: {
        tags: ['tenants'],
        summary: 'Erase a tenant with everything that belongs to it, and prove it',
        params: z.strictObject({ tenant_id: z.string().min(1).refine(isUsableId, 'must be a tenant id') }),
        response: {
          200: z.object({ tenant_id: z.string(), erased: counts, files_removed: z.int(), remaining: counts }),
          ...problems(404, 413, 415),
        },
      },
      handler: async (request) => {
        const tenantId = request.params.tenant_id;
        const report = await eraseTenant({ db, files: deps.files }, tenantId);
        deps.admissions.forgetTenant(tenantId);
        return toSnakeCase({ tenantId, ...report });
      },
    });
  };
}
