import { type Sql, trustedSql } from '../../../lib/postgres/sql.ts';
import { type AdditiveFigures, additiveFields } from '../reports/types.ts';

/** What a statement left in production, as the database returned it. Null stands for nothing. */
export interface StoredSums {
  promoted: AdditiveFigures | null;
  /** All that the rows state, when some of them were not stored because a newer upload had written them. */
  superseded: AdditiveFigures | null;
  supersededRows: number;
}

/** A JSON object with the sum of each additive figure of rows `from`; only of figures that the file states. */
export function sumsOf({ text: from }: Sql, has: (field: string) => boolean = () => true): Sql {
  const sums = additiveFields
    .filter((field) => has(field))
    .map((field) => `'${field}', trim_scale(sum(${from}.${field})::numeric)::text`);
  return trustedSql(`jsonb_build_object(${sums.join(', ')})`);
}
