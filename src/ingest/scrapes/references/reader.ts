import type { Database } from '../../../lib/postgres/db.ts';
import { findHandedReference, type HandedReference, listHandedReferences } from './reference-store.ts';

export interface ReferencePage {
  tenantId: string;
  kbId: string;
  referenceId: string | null;
  after: string | null;
  limit: number;
}

/**
 * What knowledge reads references through. Two references may have one address, such as the entries of a page; their
 * documents are told apart by it, so all but the oldest get their external id behind it.
 */
export function createReferenceReader(db: Database) {
  return {
    async listReferences({ tenantId, kbId, referenceId, after, limit }: ReferencePage) {
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
