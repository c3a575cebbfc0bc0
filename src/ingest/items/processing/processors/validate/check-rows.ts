import type { LinearPatterns } from '../../../../../lib/patterns/linear-patterns.ts';
import { parseExactly } from '../../../../../lib/rows/exact-json.ts';
import { jsonOf } from '../../outcomes.ts';
import { columnOf } from '../http/template.ts';
import { type Rule, sizeOf, type Value } from './rules.ts';
import { readTyped } from './value-types.ts';

/** What the rules say of a row: its result as JSON text, or what is wrong with it. */
export type CheckedRow = { resultJson: string } | { problem: string };

/** Longer texts are not matched at all. */
const maxMatchedLength = 2000;
/**
 * Steps that the patterns of one row may need: the sizes of the patterns times the lengths of their texts. The worst
 * patterns take about a second for it. It does not depend on the machine: a row ends in the same way everywhere.
 */
const maxRowSteps = 10_000_000;

/** Checks rows one by one. Compiled patterns are in `patterns`; rules without patterns need none. */
export class RowCheck {
  readonly #rules: readonly { rule: Rule; allowed: Set<string> | null }[];
  readonly #patterns: LinearPatterns | null;
  #stepsLeft = maxRowSteps;

  constructor(rules: readonly Rule[], patterns: LinearPatterns | null) {
    this.#rules = rules.map((rule) => ({ rule, allowed: rule.enum ? new Set(rule.enum.map(String)) : null }));
    this.#patterns = patterns;
  }

  check(inputJson: string): CheckedRow {
    const input = parseExactly(inputJson) as Record<string, unknown>;
    this.#stepsLeft = maxRowSteps;
    const values: [string, Value | null][] = [];
    const problems: string[] = [];
    for (const { rule, allowed } of this.#rules) {
      const cell = this.#checkCell(columnOf(input, rule.column), { rule, allowed });
      if ('problem' in cell) problems.push(`${rule.column} ${cell.problem}`);
      else values.push([rule.column, cell.value]);
    }
    this.#patterns?.limitMemory();
    if (problems.length > 0) return { problem: problems.join('; ') };
    return { resultJson: jsonOf(Object.fromEntries([...Object.entries(input), ...values])) };
  }

  #checkCell(
    cell: unknown,
    { rule, allowed }: { rule: Rule; allowed: Set<string> | null },
  ): { value: Value | null } | { problem: string } {
    if (cell === null || cell === undefined || (typeof cell === 'string' && cell.trim() === '')) {
      return rule.required ? { problem: 'is required' } : { value: null };
    }
    const typed = readTyped(rule.type, cell);
    if ('problem' in typed) return typed;
    const problem =
      findRangeProblem(typed.value, rule) ??
      findLengthProblem(String(typed.value), rule) ??
      findEnumProblem(String(typed.value), { rule, allowed }) ??
      this.#findMatchProblem(String(typed.value), rule.pattern);
    return problem === null ? typed : { problem };
  }

  #findMatchProblem(text: string, pattern: string | undefined): string | null {
    if (pattern === undefined) return null;
    if (text.length > maxMatchedLength) {
      return `is longer than the ${maxMatchedLength} characters that are matched against a pattern`;
    }
    if (this.#patterns === null) throw new Error('Rules with patterns are checked in their thread');
    const compiled = this.#patterns.get(pattern);
    if ('problem' in compiled) return `cannot be checked: the pattern ${pattern} ${compiled.problem}`;
    this.#stepsLeft -= compiled.size * text.length;
    if (this.#stepsLeft < 0) {
      return (
        `cannot be checked: the patterns of this row need more than ${maxRowSteps} steps together ` +
        '(size of the pattern times length of the text); use smaller patterns, or check shorter texts'
      );
    }
    return compiled.test(text) ? null : `must match the pattern ${pattern}`;
  }
}

function findEnumProblem(
  text: string,
  { rule, allowed }: { rule: Rule; allowed: Set<string> | null },
): string | null {
  if (rule.enum === undefined || allowed?.has(text)) return null;
  return `must be one of ${rule.enum.slice(0, 10).join(', ')}${rule.enum.length > 10 ? ', …' : ''}`;
}

function findRangeProblem(value: Value, { min, max, type }: Rule): string | null {
  const size = sizeOf(value, type);
  if (size === null) return null;
  if (min !== undefined && size < (sizeOf(min, type) ?? size)) return `must be at least ${min}`;
  if (max !== undefined && size > (sizeOf(max, type) ?? size)) return `must be at most ${max}`;
  return null;
}

function findLengthProblem(text: string, { minLength, maxLength }: Rule): string | null {
  if (minLength === undefined && maxLength === undefined) return null;
  const count = charactersOf(text);
  if (minLength !== undefined && count < minLength) return `must have at least ${minLength} characters`;
  if (maxLength !== undefined && count > maxLength) return `must have at most ${maxLength} characters`;
  return null;
}

/** A character outside of the basic plane has two halves. */
function charactersOf(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) count += 1;
  return count;
}
