import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { principalOf } from '../../../kernel/http/route.ts';
import { storedText } from '../../../kernel/http/stored-text.ts';
import { ownerFilter } from '../../../kernel/tenancy/types.ts';
import type { FieldProblem } from '../../../lib/errors.ts';
import { refuseDeepJson } from '../../../lib/json-depth.ts';
import { uploadErrors } from '../errors.ts';
import { type DateRange, platforms, reportFields } from '../reports/types.ts';
import { type OwnedUploadKey, uploadSources } from '../types.ts';

export const uploadParams = z.strictObject({ upload_id: z.uuid() });

/** The upload that a request names, limited to what the caller may see. */
export function keyOf(request: FastifyRequest & { params: { upload_id: string } }): OwnedUploadKey {
  const principal = principalOf(request);
  return {
    tenantId: principal.tenantId,
    uploadId: request.params.upload_id,
    ownerId: ownerFilter(principal),
  };
}

export const mappingSchema = checkedColumns(storedText(500).min(1), z.enum(reportFields).nullable());

/** A form has only strings; JSON may use booleans. */
const flag = z
  .union([z.boolean(), z.enum(['true', 'false', '1', '0', ''])], 'must be true or false')
  .default(false)
  .transform((value) => value === true || value === 'true' || value === '1');

const jsonText = z
  .unknown()
  .transform((given, context) => {
    if (typeof given !== 'string') return given;
    refuseDeepJson(given, 'The mapping');
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
  platform: z.enum(platforms as readonly string[]),
  source: z.enum(uploadSources),
  filename: optionalText(filename),
  date_from: optionalText(z.iso.date('must be a day such as 2026-03-01')),
  date_to: optionalText(z.iso.date('must be a day such as 2026-03-31')),
  created_by: optionalText(storedText(200)),
  force_partial: flag,
  review: flag,
  mapping: jsonText.default({}),
});
export type IntakeFields = z.output<typeof intakeFields>;

/** For messages. */
export const allowedParts = `${Object.keys(intakeFields.shape).join(', ')} and file`;

/**
 * Throws one error with all violations, each with its field and what is allowed. `ownPlatforms` are names of the
 * tenant's.
 */
export function readIntakeFields(
  given: Record<string, unknown>,
  ownPlatforms: readonly string[] = [],
): IntakeFields {
  const platform = z.enum([...platforms, ...ownPlatforms]);
  const parsed = intakeFields.extend({ platform }).safeParse(given);
  if (parsed.success) {
    const { date_from: from, date_to: to } = parsed.data;
    const wrong = rangeProblem({ from, to });
    if (wrong === null) return parsed.data;
    throw uploadErrors.raise.upload_form_invalid(
      `These fields are missing or invalid: ${wrong.pointer.slice(1)}`,
      {
        fields: [wrong],
      },
    );
  }
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
  throw uploadErrors.raise.upload_form_invalid(`These fields are missing or invalid: ${names}`, { fields });
}

/** The range of a report that names none, in bodies of requests. */
export const rangeFields = { date_from: z.iso.date().optional(), date_to: z.iso.date().optional() };

/** Throws when only one end is given, or they are reversed. */
export function rangeOf(given: {
  date_from?: string | undefined;
  date_to?: string | undefined;
}): DateRange | undefined {
  const { date_from: from, date_to: to } = given;
  const wrong = rangeProblem({ from, to });
  if (wrong !== null) {
    throw uploadErrors.raise.upload_form_invalid('The range is not valid', { fields: [wrong] });
  }
  return from === undefined || to === undefined ? undefined : { from, to };
}

/** A range has both ends, in their order. */
function rangeProblem(range: { from?: string | undefined; to?: string | undefined }): FieldProblem | null {
  const { from, to } = range;
  if ((from === undefined) !== (to === undefined)) {
    const missing = from === undefined ? 'date_from' : 'date_to';
    return { pointer: `/${missing}`, message: 'date_from and date_to are given together or not at all' };
  }
  if (from !== undefined && to !== undefined && from > to)
    return { pointer: '/date_to', message: 'must not be before date_from' };
  return null;
}

/** Checks the file's own name, which is used when the field `filename` is not given. */
export function readFilename(given: string | null): string | null {
  if (given === null || given === '') return null;
  const parsed = filename.safeParse(given);
  if (parsed.success) return parsed.data;
  const message = parsed.error.issues.map((issue) => issue.message).join(', ');
  throw uploadErrors.raise.upload_form_invalid(
    'The file name is not allowed; send another one in the field filename',
    { fields: [{ pointer: '/filename', message }] },
  );
}

// Objects whose keys are the columns of a file. Not `z.record`, which drops the key `__proto__`: it is a column like
// any other. Object.entries and Object.fromEntries use own properties only, so no prototype is touched.

/** For replies: the record is sent unchanged. */
export function columnRecord<Value>(value: z.ZodType<Value>): z.ZodType<Record<string, Value>> {
  return anyRecord(z.string(), value) as unknown as z.ZodType<Record<string, Value>>;
}

/** For input: every key and value is checked, and each problem points at its column. */
export function checkedColumns<Value>(column: z.ZodType<string>, value: z.ZodType<Value>) {
  return anyRecord(column, value).transform((given: unknown, context): Record<string, Value> => {
    if (typeof given !== 'object' || given === null || Array.isArray(given)) {
      context.addIssue({ code: 'custom', message: 'must be an object, for example {"Money out": "spend"}' });
      return z.NEVER;
    }
    const entries = Object.entries(given).map(([name, chosen]): [string, Value] => {
      const [key, checked] = [column.safeParse(name), value.safeParse(chosen)];
      for (const { message } of key.error?.issues ?? []) {
        context.addIssue({ code: 'custom', message: `has an invalid header: ${message}` });
      }
      for (const { message } of checked.error?.issues ?? []) {
        context.addIssue({ code: 'custom', path: [name], message });
      }
      return [name, checked.data as Value];
    });
    return Object.fromEntries(entries);
  });
}

function anyRecord(column: z.ZodType<string>, value: z.ZodType) {
  const [propertyNames, additionalProperties] = [column, value].map(schemaOf);
  return z.any().meta({ type: 'object', propertyNames, additionalProperties });
}

function schemaOf(schema: z.ZodType) {
  const { $schema: _, ...bare } = z.toJSONSchema(schema);
  return bare;
}
