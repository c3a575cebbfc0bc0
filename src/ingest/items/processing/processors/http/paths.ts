/**
 * Reads `offers.0.price`, `offers[0].price`, `$.offers[0].price` or the JSON pointer `/offers/0/price` from a value;
 * an empty path or `$` is the value itself. Undefined when there is nothing. Only own members count.
 */
export function readPath(value: unknown, path: string): unknown {
  let current = value;
  for (const step of stepsOf(path)) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, step)) return undefined;
    // `length` of an array is its own member too, and no element.
    if (Array.isArray(current) && !/^\d+$/.test(step)) return undefined;
    current = (current as Record<string, unknown>)[step];
  }
  return current;
}

function stepsOf(path: string): string[] {
  if (path === '' || path === '$') return [];
  if (path.startsWith('/')) {
    const steps = path.slice(1).split('/');
    return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  }
  return path
    .replace(/^\$\.?/, '')
    .replace(/\[(\d+)\]/g, '.$1')
    .replace(/^\./, '')
    .split('.');
}
