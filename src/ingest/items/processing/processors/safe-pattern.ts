import { createContext, Script } from 'node:vm';

/** Why a tenant's pattern is refused before it is used, or null. */
export function findPatternProblem(pattern: string): string | null {
  try {
    new RegExp(pattern, 'u');
  } catch {
    return 'is not a regular expression (ECMAScript, with the flag u)';
  }
  if (/\\[1-9]|\\k</.test(pattern)) return 'must not have back-references';
  if (hasNestedQuantifier(pattern)) {
    return 'must not repeat a group that repeats something itself, as in (a+)+: on some inputs it would never end';
  }
  return null;
}

/** Longer texts are not matched at all. */
export const maxMatchedLength = 2000;
export const maxPatternLength = 200;

const limitMs = 20;
/** The limit is wall-clock time, and a busy machine may suspend the process for that long. */
const maxTries = 5;
/** After this many texts that took too long, the pattern is considered too slow. */
const maxTimeouts = 3;

export type Match = 'yes' | 'no' | 'too_slow';

/**
 * Matches under a time limit: a pattern that passed the check can still be slow, such as \d+\d+\d+$ on a thousand
 * digits. All texts run together; only when that takes too long, one by one.
 */
export function matchAll(pattern: string, texts: string[]): Match[] {
  const all = tryMatch(pattern, texts);
  if (all !== null) return all;
  let timeouts = 0;
  return texts.map((text) => {
    if (timeouts >= maxTimeouts) return 'too_slow';
    const [match] = tryMatch(pattern, [text]) ?? [];
    if (match === undefined) timeouts += 1;
    return match ?? 'too_slow';
  });
}

const script = new Script(
  'const expression = new RegExp(pattern, "u"); texts.map((text) => expression.test(text))',
);

/** Null: it took too long, and used the CPU for it. */
function tryMatch(pattern: string, texts: string[]): Match[] | null {
  for (let attempt = 1; ; attempt += 1) {
    const before = process.cpuUsage();
    const found = runOnce(pattern, texts);
    if (found !== null) return found;
    const { user, system } = process.cpuUsage(before);
    const workedMs = (user + system) / 1_000;
    if (workedMs >= limitMs / 2 || attempt === maxTries) return null;
  }
}

function runOnce(pattern: string, texts: string[]): Match[] | null {
  try {
    const found = script.runInContext(createContext({ pattern, texts }), { timeout: limitMs });
    return Array.from(found as boolean[], (isMatch) => (isMatch ? 'yes' : 'no'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return null;
    throw error;
  }
}

/** Reads the pattern once and keeps, for every open group, whether something inside it repeats without end. */
function hasNestedQuantifier(pattern: string): boolean {
  const groups: boolean[] = [false];
  let index = 0;
  while (index < pattern.length) {
    const token = tokenAt(pattern, index);
    index += token.length;
    if (token === '(') {
      groups.push(false);
      continue;
    }
    const repeatsInside = token === ')' && (groups.pop() ?? false);
    const repeats = isUnbounded(pattern, index);
    if (repeatsInside && repeats) return true;
    if (repeatsInside || repeats) groups[groups.length - 1] = true;
  }
  return false;
}

/** An escape and a class count as one character. */
function tokenAt(pattern: string, index: number): string {
  if (pattern[index] === '\\') return pattern.slice(index, index + 2);
  if (pattern[index] !== '[') return pattern[index] ?? '';
  let end = index + 1;
  while (end < pattern.length && pattern[end] !== ']') end += pattern[end] === '\\' ? 2 : 1;
  return pattern.slice(index, end + 1);
}

/** `*`, `+`, `{3,}`, and `{1,1000}`, which is as bad. */
function isUnbounded(pattern: string, index: number): boolean {
  const next = pattern[index];
  if (next === '*' || next === '+') return true;
  const counted = /^\{\d+(,(\d*))?\}/.exec(pattern.slice(index, index + 20));
  return counted?.[2] !== undefined && (counted[2] === '' || Number(counted[2]) > 20);
}
