// Times what a kernel asks its database, without knowing how the kernel is written.

/** A claim is a call of a database function with such a name; pg_stat_statements finds it by the same one. */
export const claimCall = /\bclaim_\w+/;

/**
 * `watch` wraps a Database; `callsMs` gets the time of each call that returned something, if one of its statements
 * matches `pattern` (all calls without a pattern).
 */
export function watchCalls(pattern = null) {
  const callsMs = [];
  const watch = (db) =>
    new Proxy(db, {
      get(target, name) {
        const value = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args) => {
          const result = value.apply(target, args);
          if (!(result instanceof Promise) || !isMeant(args, pattern)) return result;
          return timed(result, callsMs);
        };
      },
    });
  return { watch, callsMs };
}

function isMeant(args, pattern) {
  return pattern === null || args.some((arg) => pattern.test(typeof arg === 'string' ? arg : arg?.text));
}

async function timed(call, callsMs) {
  const startedAtMs = performance.now();
  const result = await call;
  if (!Array.isArray(result) || result.length > 0) callsMs.push(performance.now() - startedAtMs);
  return result;
}
