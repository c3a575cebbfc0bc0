import type { z } from 'zod';
import type { FieldProblem } from '../../../../lib/errors.ts';
import { processorErrors } from './errors.ts';

const maxProblems = 20;

/** The options as the schema has them; all problems are reported together, each with its place. */
export function parseOptions<Schema extends z.ZodType>(
  schema: Schema,
  { processor, options }: { processor: string; options: unknown },
): z.output<Schema> {
  const parsed = schema.safeParse(options ?? {});
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.slice(0, maxProblems).map(toProblem);
  const summary = fields.map(({ pointer, message }) => `${pointer} ${message}`).join('; ');
  throw processorErrors.raise.processor_options_invalid(
    `The options of the processor ${processor} are not valid: ${summary}`,
    { fields },
  );
}

/** True while nothing is nested deeper than this; deep values would overflow the stack of whoever walks them. */
export function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isShallow(inner, levels - 1));
}

function toProblem(issue: z.core.$ZodIssue): FieldProblem {
  const steps = issue.path.map((step) => String(step).replaceAll('~', '~0').replaceAll('/', '~1'));
  return { pointer: ['/options', ...steps].join('/'), message: issue.message };
}
