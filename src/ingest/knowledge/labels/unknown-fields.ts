import { nearestName } from '../../../lib/nearest-name.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import type { GenerationKey } from '../types.ts';
import { listFields, listUnknownFields } from './store.ts';

const maxNamed = 20;

/** A sentence for each field that no document has: a filter with a typing error finds nothing, or everything. */
export async function unknownFieldNotes(
  tx: Tx,
  key: GenerationKey,
  fields: readonly string[],
): Promise<string[]> {
  const unknown = await listUnknownFields(tx, key, fields);
  if (unknown.length === 0) return [];
  const known = (await listFields(tx, key, maxNamed)).map(({ field }) => field);
  const named = known.length > 0 ? `Fields are: ${known.join(', ')}.` : 'No document has metadata.';
  return unknown.map(({ field }) => {
    const nearest = nearestName(field, known);
    const hint = nearest === null ? named : `Did you mean ${nearest}?`;
    return `No document has the field ${JSON.stringify(field)}. ${hint}`;
  });
}
