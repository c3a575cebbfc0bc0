import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { EndpointKey } from '../types.ts';

export interface EndpointSecrets extends EndpointKey {
  secret: string;
  oldSecret: string | null;
}

/** Endpoints of all tenants with a secret without this prefix: another key has encrypted it. */
export function listOlderSecrets(
  tx: Tx,
  { currentPrefix, after, limit }: { currentPrefix: string; after: EndpointKey | null; limit: number },
): Promise<EndpointSecrets[]> {
  const own = `${currentPrefix}%`;
  return tx.rows<EndpointSecrets>(sql`
    select tenant_id as "tenantId", webhook_id as "webhookId", secret, old_secret as "oldSecret"
      from webhook_endpoints
     where (tenant_id, webhook_id) >
           (${after?.tenantId ?? ''}, ${after?.webhookId ?? '00000000-0000-0000-0000-000000000000'}::uuid)
       and (secret not like ${own} or old_secret not like ${own})
     order by tenant_id, webhook_id
     limit ${limit}`);
}

/** In either column: a rotation may have made the current secret the old one. */
export async function replaceSecret(
  tx: Tx,
  { tenantId, webhookId, stored, encrypted }: EndpointKey & { stored: string; encrypted: string },
): Promise<boolean> {
  const replaced = await tx.run(sql`
    update webhook_endpoints
       set secret = case when secret = ${stored} then ${encrypted} else secret end,
           old_secret = case when old_secret = ${stored} then ${encrypted} else old_secret end
     where tenant_id = ${tenantId}
       and webhook_id = ${webhookId}
       and (secret = ${stored} or old_secret = ${stored})`);
  return replaced === 1;
}
