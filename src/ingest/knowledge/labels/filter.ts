import { knowledgeErrors } from '../errors.ts';
import { labelLimits } from './types.ts';

/** A filter as the database evaluates it. */
export interface DocumentFilter {
  /** A predicate of SQL/JSON over the metadata of a document. */
  path: string;
  fields: string[];
}

const maxDepth = 4;
const maxConditions = 50;
const operators = { eq: '==', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;
const allowed =
  'a value, a list of values, {eq, in, gt, gte, lt, lte, exists}, or the combinations $and, $or and $not';

/**
 * Compiles `{field: value | [values] | {gte, lte, …}}` and combinations of such. Several fields must all match. Values
 * become literals of the path, which JSON's own quoting makes safe.
 */
export function compileFilter(filter: unknown): DocumentFilter {
  const compiler = new Compiler();
  const path = compiler.filter(filter, { pointer: '/filter', depth: 1 });
  return { path, fields: [...compiler.fields] };
}

interface Place {
  pointer: string;
  depth: number;
}

class Compiler {
  readonly fields = new Set<string>();
  #conditions = 0;

  filter(filter: unknown, { pointer, depth }: Place): string {
    if (!isObject(filter)) throw refused(pointer, 'A filter must be an object');
    if (depth > maxDepth) throw refused(pointer, `A filter may be ${maxDepth} levels deep`);
    const parts = Object.entries(filter).map(([name, wanted]) => {
      const place = { pointer: `${pointer}/${name.slice(0, 80)}`, depth };
      return name.startsWith('$') ? this.#combination(name, wanted, place) : this.#field(name, wanted, place);
    });
    if (parts.length === 0) throw refused(pointer, 'A filter needs at least one field');
    return joined(parts, '&&');
  }

  #combination(name: string, wanted: unknown, { pointer, depth }: Place): string {
    const inner = { pointer, depth: depth + 1 };
    if (name === '$not') return `!(${this.filter(wanted, inner)})`;
    if (name !== '$and' && name !== '$or') throw refused(pointer, `There is no combination ${name}`);
    if (!Array.isArray(wanted) || wanted.length === 0)
      throw refused(pointer, `${name} needs a list of filters`);
    const parts = wanted.map((one, at) => this.filter(one, { ...inner, pointer: `${pointer}/${at}` }));
    return joined(parts, name === '$and' ? '&&' : '||');
  }

  #field(name: string, wanted: unknown, { pointer }: Place): string {
    if (name === '' || name.length > labelLimits.nameUnits || !isStorableText(name)) {
      throw refused(pointer, `A field has 1 to ${labelLimits.nameUnits} characters`);
    }
    this.fields.add(name);
    const field = `$.${JSON.stringify(name)}`;
    if (!isObject(wanted)) return `exists(${field} ? (${this.#anyOf(wanted, pointer)}))`;
    const parts: string[] = [];
    const tests: string[] = [];
    for (const [operator, operand] of Object.entries(wanted)) {
      const place = `${pointer}/${operator.slice(0, 80)}`;
      if (operator === 'exists') parts.push(this.#exists(field, operand, place));
      else if (operator === 'in') tests.push(`(${this.#anyOf(operand, place)})`);
      else tests.push(this.#comparison(operator, operand, place));
    }
    if (tests.length > 0) parts.push(`exists(${field} ? (${tests.join(' && ')}))`);
    if (parts.length === 0) throw refused(pointer, 'The condition is empty');
    return joined(parts, '&&');
  }

  #exists(field: string, operand: unknown, pointer: string): string {
    this.#count(pointer);
    if (typeof operand !== 'boolean') throw refused(pointer, 'exists must be true or false');
    return operand ? `exists(${field})` : `!(exists(${field}))`;
  }

  #comparison(operator: string, operand: unknown, pointer: string): string {
    if (!Object.hasOwn(operators, operator)) throw refused(pointer, `There is no condition ${operator}`);
    const sign = operators[operator as keyof typeof operators];
    return `@ ${sign} ${this.#literal(operand, pointer)}`;
  }

  #anyOf(wanted: unknown, pointer: string): string {
    const values = Array.isArray(wanted) ? wanted : [wanted];
    if (values.length === 0) throw refused(pointer, 'The list of values is empty');
    return values.map((value) => `@ == ${this.#literal(value, pointer)}`).join(' || ');
  }

  #literal(value: unknown, pointer: string): string {
    this.#count(pointer);
    if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value)))
      return String(value);
    if (typeof value === 'string' && value.length <= labelLimits.textUnits && isStorableText(value)) {
      return JSON.stringify(value);
    }
    throw refused(
      pointer,
      `A value must be a number, true, false or a text of at most ${labelLimits.textUnits} characters`,
    );
  }

  #count(pointer: string): void {
    this.#conditions += 1;
    if (this.#conditions > maxConditions)
      throw refused(pointer, `A filter may have ${maxConditions} conditions`);
  }
}

function joined(parts: readonly string[], sign: '&&' | '||'): string {
  return parts.length === 1 ? (parts[0] ?? '') : parts.map((part) => `(${part})`).join(` ${sign} `);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function isStorableText(text: string): boolean {
  return !/[\0\p{Surrogate}]/u.test(text);
}

function refused(pointer: string, why: string) {
  return knowledgeErrors.raise.knowledge_filter_refused(`${why}; allowed are ${allowed}`, {
    fields: [{ pointer, message: why }],
  });
}
