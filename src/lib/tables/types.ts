import type { ExactValue } from '../rows/exact-json.ts';

/** A row of a file that is written; its values are in the order of the header. */
export type TableRow = readonly ExactValue[];
/** Rows arrive in batches: one await per row would cost more than writing it. */
export type TableBatches = AsyncIterable<readonly TableRow[]> | Iterable<readonly TableRow[]>;
