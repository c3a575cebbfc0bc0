import type { DaySpend, WarningCount } from '../types.ts';

/** With fewer days nothing is known about what is usual. */
const leastDays = 14;
/** A normal distribution has one day in a hundred million beyond this many deviations; sales days are no rarity. */
const deviations = 6;
const leastFactor = 3;
/** Where all days are alike, the deviation is nothing; a twentieth of the median stands for it. */
const leastDeviation = 0.05;
/** The median absolute deviation times this is the standard deviation of a normal distribution. */
const consistent = 1.4826;

/**
 * Days whose spend is far above what the account spent before: usually a wrong unit or a lost decimal mark. Median and
 * median absolute deviation are not moved by single outliers of the past. Low spend is no sign: a file may hold a part.
 */
export function findUnusualSpend({
  history,
  stated,
}: {
  history: readonly DaySpend[];
  stated: readonly DaySpend[];
}): WarningCount[] {
  const limits = new Map<string | null, { median: number; limit: number } | null>();
  const limitOf = (currency: string | null) => {
    if (!limits.has(currency))
      limits.set(currency, usualOf(history.filter((each) => each.currency === currency)));
    return limits.get(currency) ?? null;
  };
  const unusual = stated.flatMap((each) => {
    const usual = limitOf(each.currency);
    return usual !== null && Number(each.spend) > usual.limit ? [{ ...each, usual }] : [];
  });
  const [first] = unusual;
  if (first === undefined) return [];
  const { day, spend, currency, usual } = first;
  const unit = currency === null ? '' : ` ${currency}`;
  const days = unusual.length === 1 ? 'One day is' : `${unusual.length} days are`;
  const message =
    `${days} far above what this account spent before, for example ${shortened(spend)}${unit} on ${day}; ` +
    `the median of the days before is ${shortened(String(usual.median))}${unit}. Check the unit and the decimal ` +
    'mark. It is stored as the file states it.';
  return [{ code: 'spend_outlier', message, count: unusual.length }];
}

function usualOf(history: readonly DaySpend[]): { median: number; limit: number } | null {
  const spends = history.map(({ spend }) => Number(spend)).filter((spend) => spend > 0);
  if (spends.length < leastDays) return null;
  const median = medianOf(spends);
  const deviation = consistent * medianOf(spends.map((spend) => Math.abs(spend - median)));
  const usual = Math.max(deviation, leastDeviation * median);
  return { median, limit: Math.max(median + deviations * usual, leastFactor * median) };
}

function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}

function shortened(spend: string): string {
  return String(Math.round(Number(spend) * 100) / 100);
}
