import type { SeesName } from './types.ts';

const maxDepth = 64;

/**
 * The same JSON value with null for the name of each secret that the viewer may not use. Names stand where a key says
 * so (`secret`, `api_key_secret`): comparing all texts with all names would hide a column that is called like a secret,
 * and thereby show that the secret exists.
 */
export function hideNames<Value>(value: Value, sees: SeesName): Value {
  return hidden(value, sees, 0) as Value;
}

function hidden(value: unknown, sees: SeesName, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= maxDepth) return null;
  if (Array.isArray(value)) return value.map((each) => hidden(each, sees, depth + 1));
  const members = Object.entries(value).map(([key, each]) => {
    const isHidden = typeof each === 'string' && /secret/i.test(key) && !sees(each);
    return [key, isHidden ? null : hidden(each, sees, depth + 1)];
  });
  return Object.fromEntries(members);
}
