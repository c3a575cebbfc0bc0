import { isFunction, isProduct, lineCounter, nodesOf, type Rule } from './tidy-rules.ts';

/** Only parses the pattern; and only escaped texts. */
const exceptions = ['src/lib/patterns/translate-pattern.ts', 'src/lib/secret-scrubber.ts'];

type Node = ReturnType<typeof nodesOf>[number];

/**
 * A pattern that is made while the program runs may come from a tenant, and then decides how long it takes. Patterns
 * that a module makes of its own constants when it is loaded are fine.
 */
export const patternSource: Rule = (file) => {
  if (!isProduct(file) || exceptions.includes(file.path)) return [];
  const lines = lineCounter(file.text);
  return nodesOf(file)
    .filter((node) => makesPattern(node) && isInFunction(node))
    .map(
      ({ start }) =>
        `${file.path}:${lines(start)} makes a RegExp at run time: patterns of tenants run through src/lib/patterns.`,
    );
};

function makesPattern(node: Node): boolean {
  const { type, callee } = node as Node & { callee?: { type: string; name?: string } };
  return (type === 'NewExpression' || type === 'CallExpression') && callee?.name === 'RegExp';
}

function isInFunction({ parent }: Node): boolean {
  return parent ? isFunction(parent) || isInFunction(parent) : false;
}
