import type { ReferenceReader } from '../../../kernel/house/doors.ts';
import type { Database } from '../../../lib/postgres/db.ts';
import { type HandedReference, handedStatement, listHandedReferences } from './reference-store.ts';

/**
 * How knowledge reads references. Several references may have one address, such as entries of a feed. Addresses
 * identify documents, so all references but the oldest get their external id appended.
 */
export function createReferenceReader(db: Database): ReferenceReader {
  return {
    async listReferences({ tenantId, kbId, referenceId, after, limit }) {
      const context = { role: 'sluice_tenant', tenantId } as const;
      const rows =
        referenceId === null
          ? await db.tenant(tenantId, (tx) => listHandedReferences(tx, { tenantId, kbId, after, limit }))
          : await db.statement<HandedReference>(context, handedStatement({ tenantId, kbId, referenceId }));
      return rows.map(readable);
    },
  };
}

function readable({ isSameUrl, externalId, url, ...reference }: HandedReference) {
  return { ...reference, url: isSameUrl ? `${url}#${encodeURIComponent(externalId)}` : url };
}
