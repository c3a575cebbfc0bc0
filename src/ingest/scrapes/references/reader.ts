import type { ReferenceReader } from '../../../kernel/house/doors.ts';
import type { Database } from '../../../lib/postgres/db.ts';
import { findHandedReference, type HandedReference, listHandedReferences } from './reference-store.ts';

/**
 * How knowledge reads references. Several references may have one address, such as entries of a feed. Addresses
 * identify documents, so all references but the oldest get their external id appended.
 */
export function createReferenceReader(db: Database): ReferenceReader {
  return {
    async listReferences({ tenantId, kbId, referenceId, after, limit }) {
      const rows = await db.tenant(tenantId, async (tx) => {
        if (referenceId === null) return listHandedReferences(tx, { tenantId, kbId, after, limit });
        const one = await findHandedReference(tx, { tenantId, kbId, referenceId });
        return one === null ? [] : [one];
      });
      return rows.map(readable);
    },
  };
}

function readable({ isSameUrl, externalId, url, ...reference }: HandedReference) {
  return { ...reference, url: isSameUrl ? `${url}#${encodeURIComponent(externalId)}` : url };
}
