import { z } from 'zod';
import { columnOf } from './http/template.ts';
import { parseOptions } from './options.ts';
import { failure } from './outcomes.ts';
import {
  findPatternProblem,
  type Match,
  matchAll,
  maxMatchedLength,
  maxPatternLength,
} from './safe-pattern.ts';
import type { ItemInput, ItemOutcome, Processor } from './types.ts';
import { readTyped, valueTypes } from './value-types.ts';

const bound = z.union([z.number(), z.string().max(40)]);
const length = z.number().int().min(0).max(1_000_000);

const ruleSchema = z
  .strictObject({
    column: z.string().min(1).max(200),
    required: z.boolean().default(false),
    type: z.enum(valueTypes).default('string'),
    /** Of numbers, or of dates (as text). */
    min: bound.optional(),
    max: bound.optional(),
    minLength: length.optional(),
    maxLength: length.optional(),
    /** Found anywhere in the text unless anchored with ^ and $. */
    pattern: z.string().min(1).max(maxPatternLength).optional(),
    enum: z
      .array(z.union([z.string().max(1000), z.number(), z.boolean()]))
      .min(1)
      .max(1000)
      .optional(),
  })
  .superRefine((rule, context) => {
    const problem = rule.pattern === undefined ? null : findPatternProblem(rule.pattern);
    if (problem !== null) context.addIssue({ code: 'custom', path: ['pattern'], message: problem });
    for (const side of ['min', 'max'] as const) {
      const boundProblem = findBoundProblem(rule.type, rule[side]);
      if (boundProblem !== null) context.addIssue({ code: 'custom', path: [side], message: boundProblem });
    }
  });

const schema = z
  .strictObject({ rules: z.array(ruleSchema).min(1).max(500) })
  .superRefine((options, context) => {
    const seen = new Set<string>();
    for (const [index, { column }] of options.rules.entries()) {
      if (seen.has(column)) {
        const message = `is the second rule for the column ${column}; there can be one`;
        context.addIssue({ code: 'custom', path: ['rules', index, 'column'], message });
      }
      seen.add(column);
    }
  });

type Rule = z.output<typeof ruleSchema>;
type Value = string | number | boolean;
type Checked = { value: Value | null } | { problem: string };

/** Rules per column, and nothing else: no outside call, no other row. */
export const validateProcessor: Processor = {
  name: 'validate',
  isPure: true,
  validateOptions,
  process: async (items, options) => validateItems(items, validateOptions(options).rules),
};

function validateOptions(options: unknown) {
  return parseOptions(schema, { processor: 'validate', options });
}

function validateItems(items: ItemInput[], rules: Rule[]): ItemOutcome[] {
  const columns = rules.map((rule) => checkColumn(items, rule));
  return items.map(({ input }, index) => {
    const cells = rules.map((rule, at) => [rule.column, columns[at]?.[index]] as const);
    const problems = cells.flatMap(([column, cell]) =>
      cell && 'problem' in cell ? [`${column} ${cell.problem}`] : [],
    );
    if (problems.length > 0) {
      return failure({ code: 'validation_failed', message: problems.join('; '), class: 'permanent' });
    }
    const normalised = cells.map(([column, cell]) => [column, cell && 'value' in cell ? cell.value : null]);
    return { status: 'DONE', result: Object.fromEntries([...Object.entries(input), ...normalised]) };
  });
}

/** One column of all items at once, so that a pattern is set up once and not per row. */
function checkColumn(items: ItemInput[], rule: Rule): Checked[] {
  const checked = items.map(({ input }) => checkCell(columnOf(input, rule.column), rule));
  const { pattern } = rule;
  if (pattern === undefined) return checked;
  const open = checked.flatMap((cell, index) => {
    return 'value' in cell && cell.value !== null ? [{ index, text: String(cell.value) }] : [];
  });
  const short = open.filter(({ text }) => text.length <= maxMatchedLength);
  const matches = matchAll(
    pattern,
    short.map(({ text }) => text),
  );
  const matched = new Map(short.map(({ index }, at) => [index, matches[at]]));
  for (const { index } of open) {
    const problem = findMatchProblem(matched.get(index), pattern);
    if (problem !== null) checked[index] = { problem };
  }
  return checked;
}

function findMatchProblem(match: Match | undefined, pattern: string): string | null {
  switch (match) {
    case 'yes':
      return null;
    case 'no':
      return `must match the pattern ${pattern}`;
    case 'too_slow':
      return `took too long to match against the pattern ${pattern}; use a simpler pattern`;
    case undefined:
      return `is longer than the ${maxMatchedLength} characters that are matched against a pattern`;
  }
}

function checkCell(cell: unknown, rule: Rule): Checked {
  if (cell === null || cell === undefined || (typeof cell === 'string' && cell.trim() === '')) {
    return rule.required ? { problem: 'is required' } : { value: null };
  }
  const typed = readTyped(rule.type, cell);
  if ('problem' in typed) return typed;
  const problem = findRangeProblem(typed.value, rule) ?? findLengthProblem(String(typed.value), rule);
  if (problem !== null) return { problem };
  const allowed = rule.enum;
  if (allowed !== undefined && !allowed.some((option) => String(option) === String(typed.value))) {
    const shown = allowed.slice(0, 10).join(', ');
    return { problem: `must be one of ${shown}${allowed.length > 10 ? ', …' : ''}` };
  }
  return typed;
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
  const count = [...text].length;
  if (minLength !== undefined && count < minLength) return `must have at least ${minLength} characters`;
  if (maxLength !== undefined && count > maxLength) return `must have at most ${maxLength} characters`;
  return null;
}

function findBoundProblem(type: Rule['type'], value: string | number | undefined): string | null {
  if (value === undefined) return null;
  if (type === 'date') return sizeOf(value, type) === null ? 'must be a date such as 2024-01-31' : null;
  if (type !== 'integer' && type !== 'number') return `does not apply to the type ${type}`;
  return typeof value === 'number' ? null : 'must be a number';
}

/** What min and max compare: the number, or the moment. */
function sizeOf(value: Value, type: Rule['type']): number | null {
  if (type === 'integer' || type === 'number') return typeof value === 'number' ? value : null;
  if (type !== 'date') return null;
  const date = readTyped('date', value);
  return 'value' in date ? Date.parse(String(date.value)) : null;
}
