import { z } from 'zod';
import { maxPatternLength, translatePattern } from '../../../../../lib/patterns/translate-pattern.ts';
import { parseOptions } from '../options.ts';
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
    const translated = rule.pattern === undefined ? null : translatePattern(rule.pattern);
    if (translated !== null && 'problem' in translated) {
      context.addIssue({ code: 'custom', path: ['pattern'], message: translated.problem });
    }
    for (const side of ['min', 'max'] as const) {
      const problem = findBoundProblem(rule.type, rule[side]);
      if (problem !== null) context.addIssue({ code: 'custom', path: [side], message: problem });
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

export type Rule = z.output<typeof ruleSchema>;
export type Value = string | number | boolean;

export function readRules(options: unknown): { rules: Rule[] } {
  return parseOptions(schema, { processor: 'validate', options });
}

/** What min and max compare: the number, or the moment. */
export function sizeOf(value: Value, type: Rule['type']): number | null {
  if (type === 'integer' || type === 'number') return typeof value === 'number' ? value : null;
  if (type !== 'date') return null;
  const date = readTyped('date', value);
  return 'value' in date ? Date.parse(String(date.value)) : null;
}

function findBoundProblem(type: Rule['type'], value: string | number | undefined): string | null {
  if (value === undefined) return null;
  if (type === 'date') return sizeOf(value, type) === null ? 'must be a date such as 2024-01-31' : null;
  if (type !== 'integer' && type !== 'number') return `does not apply to the type ${type}`;
  return typeof value === 'number' ? null : 'must be a number';
}
