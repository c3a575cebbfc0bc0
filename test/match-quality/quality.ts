import { type AskedRow, type RowKind, rowKinds } from './products.ts';

export interface Quality {
  /** Per cent of the answers that were right. */
  precision: number;
  /** Per cent of the rows whose product is there and was found. */
  recall: number;
  /** Recall of one kind of rows; of those without a product, how many got no answer. */
  byKind: Record<RowKind, number>;
}

/** `found`: the SKU that was returned for each row, or null. */
export function qualityOf(rows: readonly AskedRow[], found: readonly (string | null)[]): Quality {
  const right = rows.map(({ answer }, at) => found[at] === answer);
  const share = (some: boolean[], good: boolean[]) => {
    const chosen = good.filter((_, at) => some[at]);
    return chosen.length === 0 ? 100 : (100 * chosen.filter(Boolean).length) / chosen.length;
  };
  const byKind = rowKinds.map((kind) => [
    kind,
    share(
      rows.map((row) => row.kind === kind),
      right,
    ),
  ]);
  return {
    precision: share(
      found.map((sku) => sku !== null),
      right,
    ),
    recall: share(
      rows.map(({ answer }) => answer !== null),
      right,
    ),
    byKind: Object.fromEntries(byKind) as Quality['byKind'],
  };
}
