import { withoutZerosBehind } from '../../../../lib/numbers.ts';

/**
 * Adds decimal texts without rounding. Whole units are kept per number of decimals, as safe integers while they fit:
 * the figures of every line go through here.
 */
export class ExactSum {
  /** By number of decimals. */
  #units: number[] = [];
  #large: { units: bigint; digits: number } = { units: 0n, digits: 0 };
  #isEmpty = true;

  constructor(start: string | null = null) {
    this.add(start);
  }

  /** Null adds nothing. */
  add(text: string | null): void {
    if (text === null) return;
    this.#isEmpty = false;
    const point = text.indexOf('.');
    const digits = point === -1 ? 0 : text.length - point - 1;
    const units = Number(point === -1 ? text : text.slice(0, point) + text.slice(point + 1));
    const sum = (this.#units[digits] ?? 0) + units;
    if (digits <= maxQuickDigits && Number.isSafeInteger(units) && Number.isSafeInteger(sum)) {
      this.#units[digits] = sum;
    } else {
      this.#addLarge(BigInt(point === -1 ? text : text.slice(0, point) + text.slice(point + 1)), digits);
    }
  }

  /** Plain decimal text without zeros behind the last digit; null when nothing was added. */
  text(): string | null {
    if (this.#isEmpty) return null;
    this.#units.forEach((units, digits) => {
      this.#addLarge(BigInt(units), digits);
    });
    this.#units = [];
    return written(this.#large.units, this.#large.digits);
  }

  #addLarge(units: bigint, digits: number): void {
    const wide = Math.max(digits, this.#large.digits);
    const shift = (value: bigint, from: number) => value * 10n ** BigInt(wide - from);
    this.#large = {
      units: shift(this.#large.units, this.#large.digits) + shift(units, digits),
      digits: wide,
    };
  }
}

const maxQuickDigits = 12;

function written(units: bigint, digits: number): string {
  const sign = units < 0n ? '-' : '';
  const text = String(units < 0n ? -units : units).padStart(digits + 1, '0');
  const fraction = withoutZerosBehind(text.slice(text.length - digits));
  const wholePart = digits === 0 ? text : text.slice(0, text.length - digits);
  return sign + wholePart + (digits === 0 || fraction === '' ? '' : `.${fraction}`);
}

/** The sum of decimal texts; null when all of them are. */
export function sumTexts(...texts: (string | null)[]): string | null {
  const sum = new ExactSum();
  for (const text of texts) sum.add(text);
  return sum.text();
}

export function negated(text: string | null): string | null {
  if (text === null) return null;
  return text.startsWith('-') ? text.slice(1) : `-${text}`;
}
