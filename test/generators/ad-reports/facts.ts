import { seededRandom } from '../../chaos/seeded-random.ts';

/** One day of one ad, in whole units, from which every shape of report is written. */
export interface ReportFact {
  day: string;
  campaign: FactEntity;
  adSet: FactEntity;
  ad: FactEntity;
  impressions: number;
  clicks: number;
  reach: number;
  /** Cents, or whole units for a currency without cents. */
  spend: number;
  /** Hundredths. */
  conversions: number;
  /** As `spend`. */
  value: number;
}

export interface FactEntity {
  id: string;
  name: string;
}

export interface FactOptions {
  seed: number;
  rows: number;
  /** Put into names, so that encodings are tried. */
  words: readonly string[];
}

const daysPerAd = 28;
const firstDay = Date.UTC(2026, 2, 27);

/** Every pair of ad and day once; the same for the same seed. */
export function* reportFacts({ seed, rows, words }: FactOptions): Generator<ReportFact> {
  const random = seededRandom(seed);
  const nameOf = (level: string, number: number) =>
    number === 0
      ? `${level}: ${words[0] ?? ''}, "A"`
      : `${level} ${words[number % words.length] ?? ''} ${number}`;
  for (let row = 0; row < rows; row += 1) {
    const ad = Math.floor(row / daysPerAd);
    const adSet = Math.floor(ad / 3);
    const campaign = Math.floor(adSet / 4);
    const impressions = random.below(2_000_000);
    const clicks = random.below(Math.max(1, Math.floor(impressions / 20)));
    yield {
      day: new Date(firstDay + (row % daysPerAd) * 86_400_000).toISOString().slice(0, 10),
      campaign: { id: idOf(1, campaign), name: nameOf('Total', campaign) },
      adSet: { id: idOf(2, adSet), name: nameOf('Set', adSet) },
      ad: { id: idOf(3, ad), name: nameOf('Ad', ad) },
      impressions,
      clicks,
      reach: random.below(impressions + 1),
      spend: random.below(clicks * 200 + 1),
      conversions: random.below(40_000),
      value: random.below(90_000_000),
    };
  }
}

/** 19 digits, beyond what a floating-point number keeps apart. */
const idOf = (kind: number, number: number) => `120${kind}9007199254${String(number).padStart(5, '0')}`;
