import { createHash } from 'node:crypto';
import type { NewReference } from '../types.ts';

/** SHA-256 over the contents of a reference; the order of JSON keys does not matter. */
export function payloadHashOf(
  reference: Pick<NewReference, 'url' | 'title' | 'content' | 'metadata'>,
): string {
  const { url, title, content, metadata } = reference;
  return createHash('sha256').update(canonicalJson({ url, title, content, metadata })).digest('hex');
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (part === null || typeof part !== 'object' || Array.isArray(part)) return part;
    // From entries: assigning a key named __proto__ would change the prototype.
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** Sorted in the order in which all syncs lock references. Of several with one external id the last one counts. */
export function inLockOrder(references: readonly NewReference[]): NewReference[] {
  const byId = new Map(references.map((reference) => [reference.externalId, reference]));
  return [...byId.values()].sort((a, b) =>
    Buffer.compare(Buffer.from(a.externalId), Buffer.from(b.externalId)),
  );
}
