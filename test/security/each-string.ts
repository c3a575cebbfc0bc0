import { hardStrings, longStrings } from '../generators/hard-strings.ts';
import type { TestClaims } from '../support/servers/server.ts';
import { newTenant, type TestDatabase } from '../support/worlds/database.ts';
import type { Told } from './product.ts';
import type { Path } from './request-schemas.ts';

/** What PostgreSQL cannot keep: it has to be refused, and not to be kept as something else. */
export const unstorable: readonly string[] = ['\0', 'a\0b', '\ud800', 'half a pair \udfff', '\udc00\ud800'];

export const allStrings: readonly string[] = [...new Set([...hardStrings, ...longStrings, ...unstorable])];

/**
 * A fifth of the strings, another one for each place, and what cannot be stored: for places that are all read by the
 * same code, so that together they meet every string.
 */
export function someStrings(place: number): string[] {
  return allStrings.filter((text, at) => at % 5 === place % 5 || unstorable.includes(text));
}

export interface Turn {
  text: string;
  at: number;
  /** Of a tenant that no other lane works in meanwhile. */
  claims: TestClaims & { tenantId: string };
}

/** A turn whose request got a response. */
export interface Sent extends Turn {
  told: Told;
  /** What stands for `:name` in the path. */
  params: Record<string, string>;
}

export interface Place {
  /** Where the text is after a success; null where nothing keeps it, which `why` explains. */
  back: ((sent: Sent) => Promise<unknown>) | null;
  why?: string;
  /** A separate thing per string, where a request uses it up. */
  params?: (turn: Turn) => Promise<Record<string, string>>;
  /** The body that the text is put into, where the smallest one has no place for it. */
  base?: Record<string, unknown>;
  /** Read by the same code as another place, so some of the strings are enough. */
  isAlike?: boolean;
}

const laneCount = 8;

/** Runs the work with every string, in a few lanes at once, each with a tenant of its own. */
export async function eachString(
  database: TestDatabase,
  work: (turn: Turn) => Promise<void>,
  strings: readonly string[] = allStrings,
): Promise<void> {
  const left = [...strings.entries()];
  const lane = async (number: number) => {
    const claims = { tenantId: await tenantOf(database, number), role: 'operator' } as const;
    for (let next = left.shift(); next; next = left.shift()) {
      await work({ at: next[0], text: next[1], claims });
    }
  };
  await Promise.all(Array.from({ length: laneCount }, (_, number) => lane(number)));
}

const tenants = new WeakMap<TestDatabase, Map<number, Promise<string>>>();

/** The same one in the next run of a test file. */
function tenantOf(database: TestDatabase, lane: number): Promise<string> {
  const ofLanes = tenants.get(database) ?? new Map<number, Promise<string>>();
  tenants.set(database, ofLanes);
  const known = ofLanes.get(lane) ?? newTenant(database, 'enterprise');
  ofLanes.set(lane, known);
  return known;
}

/** A proper refusal: a 4xx problem with a code. */
export function isRefusal({ status, body }: Pick<Told, 'status' | 'body'>): boolean {
  return status >= 400 && status < 500 && /^[a-z0-9_]+$/.test(String(body.code));
}

export const shown = (text: string): string => JSON.stringify(text).slice(0, 80);

export function putAt(into: unknown, [first, ...rest]: Path, value: unknown): unknown {
  if (first === undefined) return value;
  if (/^\d+$/.test(first)) return [putAt(Array.isArray(into) ? into[0] : undefined, rest, value)];
  const object = typeof into === 'object' && into !== null ? (into as Record<string, unknown>) : {};
  const name = first === '*' ? 'A column' : first;
  return { ...object, [name]: putAt(object[name], rest, value) };
}
