/** `decimal(1250n, 2)` is `12.5`: exact decimal text in its shortest form. */
export function decimal(units: bigint, digits: number): string {
  const text = fixed(units, digits);
  return text.includes('.') ? text.replace(/0+$/, '').replace(/\.$/, '') : text;
}

/** `fixed(1250n, 2)` is `12.50`. */
export function fixed(units: bigint, digits: number): string {
  if (digits === 0) return String(units);
  const text = String(units).padStart(digits + 1, '0');
  return `${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

export interface WritingStyle {
  /** Between thousands. */
  group: string;
  decimalMark: string;
}

/** A number in the format of one country. */
export function written(units: number, digits: number, { group, decimalMark }: WritingStyle): string {
  const [whole = '', fraction] = fixed(BigInt(units), digits).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, group);
  return fraction === undefined ? grouped : `${grouped}${decimalMark}${fraction}`;
}

/** The sum of decimal texts, exactly. */
export function sumOf(numbers: Iterable<string>): string {
  let sum = 0n;
  const places = 20;
  for (const number of numbers) {
    const [whole = '0', fraction = ''] = number.split('.');
    sum += BigInt(whole + fraction.padEnd(places, '0'));
  }
  return decimal(sum, places);
}
