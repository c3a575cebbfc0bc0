import { type Sql, sql } from '../../../lib/postgres/sql.ts';
import type { Upload } from '../types.ts';

/** The figures of a fact, in the order of everything below. */
export const figureColumns = sql`impressions, clicks, reach, spend, conversions, conversion_value, currency`;

/**
 * What fact `p` of production holds once the upload's row `said` has spoken. A figure that the file has no column for
 * stays as it is; an empty cell of a column that is there says that there is none. Where the condition does not hold,
 * the row has nothing to say.
 */
export function figuresAfter(
  { layout }: Pick<Upload, 'layout'>,
  said: Sql,
  { where = sql`true` }: { where?: Sql } = {},
): Sql {
  const has = statedFigures(layout);
  return sql`
    case when ${has('impressions')} and ${where} then ${said}.impressions else p.impressions end,
    case when ${has('clicks')} and ${where} then ${said}.clicks else p.clicks end,
    case when ${has('reach')} and ${where} then ${said}.reach else p.reach end,
    case when ${has('spend')} and ${where} then ${said}.spend else p.spend end,
    case when ${has('conversions')} and ${where} then ${said}.conversions else p.conversions end,
    case when ${has('conversion_value')} and ${where} then ${said}.conversion_value else p.conversion_value end,
    case when ${has('currency')} and ${where} then ${said}.currency else p.currency end`;
}

/** Whether the upload's row `said` says something else than fact `p` of production. */
export function differsFrom(target: Pick<Upload, 'layout'>, said: Sql): Sql {
  return sql`((p.impressions, p.clicks, p.reach, p.spend, p.conversions, p.conversion_value, p.currency)
               is distinct from (${figuresAfter(target, said)}))`;
}

/** Which figures the file has columns for. Layouts of before did not say, and then it is all of them. */
function statedFigures(layout: Upload['layout']): (field: string) => boolean {
  const sources = layout?.sources as Record<string, string> | undefined;
  // The header of an amount may name the currency of every row.
  const hasCurrency = typeof layout?.currency === 'string';
  return (field) =>
    sources === undefined || Object.hasOwn(sources, field) || (field === 'currency' && hasCurrency);
}
