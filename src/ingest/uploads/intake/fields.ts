import { z } from 'zod';
import type { FieldProblem } from '../../../lib/errors.ts';
import { uploadErrors } from '../errors.ts';
import { platforms, reportFields } from '../reports/types.ts';
import { uploadSources } from '../types.ts';
import { checkedColumns } from './column-records.ts';

/** PostgreSQL stores neither. */
const isStorable = (text: string) => !/[\0\p{Surrogate}]/u.test(text);
const notStorable = 'must not hold a NUL or half a character';
const storedText = (max: number) => z.string().max(max).refine(isStorable, notStorable);

export const mappingSchema = checkedColumns(storedText(500).min(1), z.enum(reportFields).nullable());

/** A form has only texts; JSON may use real booleans. */
const flag = z
  .union([z.boolean(), z.enum(['true', 'false', '1', '0', ''])], 'must be true or false')
  .default(false)
  .transform((value) => value === true || value === 'true' || value === '1');

const jsonText = z
  .unknown()
  .transform((given, context) => {
    if (typeof given !== 'string') return given;
    try {
      return JSON.parse(given === '' ? '{}' : given) as unknown;
    } catch {
      context.addIssue({ code: 'custom', message: 'must be JSON, for example {"Money out": "spend"}' });
      return z.NEVER;
    }
  })
  .pipe(mappingSchema);

const optionalText = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value) => (value === '' || value === null ? undefined : value), schema.optional());

const filename = storedText(500);

/** The fields of an upload, from a form or from JSON. */
export const intakeFields = z.strictObject({
  workspace_id: z.uuid('must be the UUID of a workspace'),
  client_id: optionalText(z.uuid('must be a UUID')),
  platform: z.enum(platforms),
  source: z.enum(uploadSources),
  filename: optionalText(filename),
  created_by: optionalText(storedText(200)),
  force_partial: flag,
  review: flag,
  mapping: jsonText.default({}),
});
export type IntakeFields = z.output<typeof intakeFields>;

/** For messages. */
export const allowedParts = `${Object.keys(intakeFields.shape).join(', ')} and file`;

/** Every violation at once, each with its field and what is allowed. */
export function readIntakeFields(given: Record<string, unknown>): IntakeFields {
  const parsed = intakeFields.safeParse(given);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.flatMap((issue): FieldProblem[] => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({
        pointer: `/${key}`,
        message: `is not a field; allowed are ${allowedParts}`,
      }));
    }
    return [{ pointer: `/${issue.path.join('/')}`, message: issue.message }];
  });
  const names = [...new Set(fields.map(({ pointer }) => pointer.slice(1)))].join(', ');
  throw uploadErrors.raise.upload_form_invalid(`These fields are missing or wrong: ${names}`, { fields });
}

/** The name that a file comes with, when no field gives it another. */
export function readFilename(given: string | null): string | null {
  if (given === null || given === '') return null;
  const parsed = filename.safeParse(given);
  if (parsed.success) return parsed.data;
  const message = parsed.error.issues.map((issue) => issue.message).join(', ');
  throw uploadErrors.raise.upload_form_invalid(
    'The name of the file is not allowed; send another one in the field filename',
    { fields: [{ pointer: '/filename', message }] },
  );
}
