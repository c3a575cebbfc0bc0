/**
 * What a cell of an export can hold: a JSON scalar, or a JSON number that a double cannot hold (`ExactNumber`).
 * Objects and arrays arrive as their compact JSON text, made in exact-json.ts.
 */
export type ExportValue = string | number | boolean | null | ExactNumber;

/** A JSON number kept as it was written: a 19-digit id must not come out with its last digits changed. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type ExportRow = readonly ExportValue[];

/** Rows arrive in batches: one await per row would cost more than writing it. */
export type ExportBatches = AsyncIterable<readonly ExportRow[]> | Iterable<readonly ExportRow[]>;

/** The JSON text of a number. Unlike String(), it keeps the sign of zero. */
export function numberText(value: number): string {
  return value === 0 && 1 / value < 0 ? '-0' : String(value);
}
