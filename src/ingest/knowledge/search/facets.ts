import type { FoundInBase } from './search-all.ts';

/** How many of the found documents have each value of a field. */
export interface Facet {
  field: string;
  values: { value: string | number | boolean; label: string; documents: number }[];
}

const maxValues = 20;

/** Each document counts once, however many of its passages were found. */
export function countFacets(found: readonly FoundInBase[], fields: readonly string[]): Facet[] {
  const documents = [...new Map(found.map((each) => [each.document.document_id, each])).values()];
  const bases = documents.map(({ base }) => ({ value: base.kb_id, label: base.name }));
  const others = [...new Set(['format', ...fields])].map((field) => ({
    field,
    values: countValues(
      documents.flatMap(({ document }) =>
        [document.metadata[field] ?? []].flat().map((value) => ({ value, label: String(value) })),
      ),
    ),
  }));
  return [{ field: 'base', values: countValues(bases) }, ...others];
}

function countValues(found: readonly { value: string | number | boolean; label: string }[]): Facet['values'] {
  const counts = new Map<string, Facet['values'][number]>();
  for (const one of found) {
    const key = JSON.stringify(one.value);
    const known = counts.get(key);
    if (known) known.documents += 1;
    else counts.set(key, { ...one, documents: 1 });
  }
  return [...counts.values()]
    .toSorted((one, other) => other.documents - one.documents || (one.label < other.label ? -1 : 1))
    .slice(0, maxValues);
}
