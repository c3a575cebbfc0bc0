/** What one ad did on one day, by the platform's own books. */
export interface AdDay {
  day: string;
  campaignId: string;
  adSetId: string;
  adId: string;
  impressions: number;
  clicks: number;
  cents: number;
  conversions: number;
  valueCents: number;
}

/** An ad account that fakes of the platforms report on. Late conversions change days that are over. */
export class AdAccount {
  readonly currency = 'EUR';
  days: AdDay[] = [];

  /** Two campaigns with two ads each, on the days given, with figures that differ everywhere. */
  static over(days: readonly string[]): AdAccount {
    const account = new AdAccount();
    account.days = days.flatMap((day, at) =>
      [1, 2, 3, 4].map((ad) => ({
        day,
        campaignId: ad <= 2 ? '120210000000000001' : '120210000000000002',
        adSetId: `12021000000000001${ad}`,
        adId: `12021000000000002${ad}`,
        impressions: 1_000 * ad + at,
        clicks: 10 * ad + at,
        cents: 2_500 * ad + 7 * at,
        conversions: ad,
        valueCents: 1_999 * ad,
      })),
    );
    return account;
  }

  in(from: string, to: string): AdDay[] {
    return this.days.filter(({ day }) => day >= from && day <= to);
  }

  /** The books of some days: the judge of what must be stored. */
  sums(from: string, to: string) {
    const rows = this.in(from, to);
    const sum = (of: (row: AdDay) => number) => rows.reduce((total, row) => total + of(row), 0);
    return {
      impressions: sum(({ impressions }) => impressions),
      clicks: sum(({ clicks }) => clicks),
      spend: sum(({ cents }) => cents) / 100,
      conversions: sum(({ conversions }) => conversions),
      conversion_value: sum(({ valueCents }) => valueCents) / 100,
    };
  }

  /** Conversions that are counted after the day is over. */
  convertLate(day: string, { conversions, valueCents }: Pick<AdDay, 'conversions' | 'valueCents'>): void {
    const row = this.days.find((each) => each.day === day);
    if (!row) throw new Error(`The account has no day ${day}`);
    row.conversions += conversions;
    row.valueCents += valueCents;
  }

  /** Adds rows of one day up, as a report of a higher level does. */
  grouped(from: string, to: string, by: (row: AdDay) => string): AdDay[] {
    const groups = new Map<string, AdDay>();
    for (const row of this.in(from, to)) {
      const key = `${row.day} ${by(row)}`;
      const group = groups.get(key);
      if (group === undefined) {
        groups.set(key, { ...row });
        continue;
      }
      for (const name of ['impressions', 'clicks', 'cents', 'conversions', 'valueCents'] as const)
        group[name] += row[name];
    }
    return [...groups.values()];
  }
}
