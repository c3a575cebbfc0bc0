/** The names of a record as the API writes them, with times as ISO text: `createdAt: Date` is `created_at: string`. */
type SnakeCased<T> = T extends unknown
  ? { [Name in keyof T & string as SnakeCase<Name>]: TimeAsText<T[Name]> }
  : never;

export type TimeAsText<Value> = Date extends Value ? Exclude<Value, Date> | string : Value;

/** The names of a record as the program writes them. */
type CamelCased<T> = T extends unknown ? { [Name in keyof T & string as CamelCase<Name>]: T[Name] } : never;

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

export type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

/** Only the record's own names change; objects inside it stay as they are. */
export function toSnakeCase<T extends object>(record: T): SnakeCased<T> {
  const entries = Object.entries(record).map(([name, value]) => [
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    timeAsText(value),
  ]);
  return Object.fromEntries(entries) as SnakeCased<T>;
}

export function toCamelCase<T extends object>(record: T): CamelCased<T> {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [camelCase(name), value]),
  ) as CamelCased<T>;
}

export function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

export function timeAsText(value: unknown): unknown {
  return value instanceof Date ? value.toISOString() : value;
}
