import fc from 'fast-check';

/** A line of a report, and what the test knows about it. */
export interface Entry {
  client: number;
  campaign: number;
  ad: number;
  day: number;
  currency: string;
  impressions: number;
  cents: number;
}

export const dayOf = (day: number) => new Date(Date.UTC(2026, 1, day)).toISOString().slice(0, 10);

/** Lines that no two share a key. */
export const entries = fc.uniqueArray(
  fc.record({
    client: fc.integer({ min: 0, max: 1 }),
    campaign: fc.integer({ min: 1, max: 4 }),
    ad: fc.integer({ min: 1, max: 3 }),
    // February and March, over several weeks.
    day: fc.integer({ min: 20, max: 40 }),
    currency: fc.constantFrom('USD', 'EUR', 'JPY'),
    impressions: fc.integer({ min: 0, max: 100_000 }),
    cents: fc.integer({ min: 0, max: 5_000_000 }),
  }),
  {
    minLength: 1,
    maxLength: 60,
    selector: ({ client, campaign, ad, day }) => [client, campaign, ad, day].join(),
  },
);

const header = 'Day,Campaign,Campaign ID,Ad group,Ad group ID,Ad name,Ad ID,Impr.,Clicks,Cost,Currency code';

export function report(lines: readonly Entry[]): string {
  const rows = lines.map(({ campaign, ad, day, currency, impressions, cents }) =>
    [
      dayOf(day),
      `Campaign ${campaign}`,
      `90${campaign}`,
      `Group ${campaign}`,
      `80${campaign}`,
      `Ad ${ad}`,
      `7${campaign}${ad}`,
      impressions,
      Math.floor(impressions / 7),
      (cents / 100).toFixed(2),
      currency,
    ].join(),
  );
  return `${header}\n${rows.join('\n')}\n`;
}

/** The Monday of a week, by counting. */
export function mondayOf(day: number): string {
  for (let at = day; ; at -= 1) {
    if (new Date(`${dayOf(at)}T12:00:00Z`).getUTCDay() === 1) return dayOf(at);
  }
}

/** The sums of lines by key and currency, as sorted texts: impressions, clicks, cents, lines. */
export function ledger(lines: readonly Entry[], keyOf: (entry: Entry) => string) {
  const sums = new Map<string, { impressions: number; clicks: number; cents: number; rows: number }>();
  for (const line of lines) {
    const key = `${keyOf(line)} ${line.currency}`;
    const sum = sums.get(key) ?? { impressions: 0, clicks: 0, cents: 0, rows: 0 };
    sums.set(key, {
      impressions: sum.impressions + line.impressions,
      clicks: sum.clicks + Math.floor(line.impressions / 7),
      cents: sum.cents + line.cents,
      rows: sum.rows + 1,
    });
  }
  return [...sums.values()].map((sum) => Object.values(sum).join()).toSorted();
}
