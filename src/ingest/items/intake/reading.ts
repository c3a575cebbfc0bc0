import { z } from 'zod';
import type { SluiceError } from '../../../lib/errors.ts';
import { encodings } from '../../../lib/rows/text-source.ts';
import { itemErrors } from '../errors.ts';
import { columnMapping } from './column-mapping.ts';

const shape = z.strictObject({
  strict: z.stringbool().optional().describe('Refuse a file that is not well-formed instead of repairing it'),
  encoding: z.enum(encodings).optional().describe('Of a text file, instead of the detected one'),
  headerLine: z.coerce.number().int().min(1).max(1_000).optional().describe('The line of the header'),
  mapping: columnMapping.optional(),
});

/** How a file of rows is to be read, as the request says. It has to say so before the file. */
export interface Reading {
  strict: boolean;
  encoding: z.output<typeof shape>['encoding'];
  headerLine: number | undefined;
  /** File column → column of the job, or null to leave it out. Null instead: all as in the file. */
  mapping: Record<string, string | null> | null;
}

export const readingFields = ['strict', 'encoding', 'headerLine', 'mapping'] as const;

export const plainReading: Reading = {
  strict: false,
  encoding: undefined,
  headerLine: undefined,
  mapping: null,
};

/** Refuses what is not allowed, naming the field. */
export function parseReading(given: Record<string, unknown>): Reading {
  const parsed = shape.safeParse(given);
  if (!parsed.success) throw notAllowed(parsed.error.issues);
  const { strict = false, encoding, headerLine, mapping = null } = parsed.data;
  return { strict, encoding, headerLine, mapping };
}

function notAllowed(issues: readonly z.core.$ZodIssue[]): SluiceError {
  const fields = issues.map(({ path, message }) => ({ pointer: `/${path.join('/')}`, message }));
  const [first] = fields;
  return itemErrors.raise.form_invalid(`The field ${first?.pointer.slice(1)}: ${first?.message}`, { fields });
}
