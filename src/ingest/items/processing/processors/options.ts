import type { z } from 'zod';
import type { SluiceError } from '../../../../lib/errors.ts';
import { processorErrors } from './errors.ts';

const maxProblems = 20;
const maxMessageLength = 500;

/** Parses the options with the schema. All problems are reported together, each with its place. */
export function parseOptions<Schema extends z.ZodType>(
  schema: Schema,
  { processor, options }: { processor: string; options: unknown },
): z.output<Schema> {
  const parsed = schema.safeParse(options ?? {});
  if (parsed.success) return parsed.data;
  throw optionsInvalid(processor, parsed.error.issues);
}

/** `issues`: of zod, or of another Standard Schema. */
export function optionsInvalid(
  processor: string,
  issues: readonly { message: string; path?: Path | undefined }[],
  cause?: unknown,
): SluiceError {
  const fields = issues.slice(0, maxProblems).map(({ path = [], message }) => ({
    pointer: ['/options', ...path.map(stepOf)].join('/'),
    message: message.slice(0, maxMessageLength),
  }));
  const summary = fields.map(({ pointer, message }) => `${pointer} ${message}`).join('; ');
  return processorErrors.raise.processor_options_invalid(
    `The options of the processor ${processor} are not valid: ${summary}`,
    { fields, cause },
  );
}

type Path = readonly (PropertyKey | { readonly key: PropertyKey })[];

function stepOf(step: Path[number]): string {
  const name = String(typeof step === 'object' ? step.key : step);
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** True while nothing is nested deeper than this; deep values would overflow the stack. */
export function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isShallow(inner, levels - 1));
}
