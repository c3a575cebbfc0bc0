import { z } from 'zod';
import { storedText } from '../../../kernel/http/stored-text.ts';
import { accessField, type Labels, labelLimits, type Metadata } from './types.ts';

const plain = z.union([storedText(labelLimits.textUnits), z.number(), z.boolean()]);

export const allowForm = z
  .array(storedText(labelLimits.groupUnits).min(1))
  .max(labelLimits.groups)
  .describe(
    'Groups whose members may see the document; ["*"]: everybody, []: only those who see all documents',
  );

const fieldName = storedText(labelLimits.nameUnits)
  .min(1)
  .refine((name) => !name.startsWith('$'), 'must not start with $');

export const metadataForm = z
  .record(fieldName, z.union([plain, z.array(plain).max(labelLimits.values), z.null()]))
  .refine(
    (fields) => Object.keys(fields).length <= labelLimits.fields,
    `must have at most ${labelLimits.fields} fields`,
  )
  .refine(
    (fields) => !(accessField in fields) || allowForm.safeParse(fields[accessField]).success,
    `the field ${accessField} must be a list of groups`,
  )
  .describe(
    'Fields with a text, a number, true, false or a list of those; null hides a field that the document itself has. ' +
      'The field allow is the access list',
  );

/** For all documents of a source whose path starts with `path_prefix`; later rules count more. */
export const labelRules = z
  .array(
    z.strictObject({
      path_prefix: storedText(500)
        .default('')
        .describe('Of the path of a page or file; default: all documents'),
      metadata: metadataForm.optional(),
      allow: allowForm.optional(),
    }),
  )
  .max(100)
  .optional()
  .describe('Metadata and access of the documents, by their paths');

export const filterForm = z
  .record(z.string(), z.unknown())
  .describe(
    'Only documents whose metadata match: {field: value | [values] | {eq, in, gt, gte, lt, lte, exists}}. ' +
      'Several fields must all match; combine filters with $and, $or (lists) and $not',
  );

export type MetadataForm = z.output<typeof metadataForm>;

/** A form may name the groups in either place. */
export function labelsOfForm({
  metadata = {},
  allow,
}: {
  metadata?: MetadataForm | undefined;
  allow?: string[] | undefined;
}): Labels {
  const { [accessField]: inside, ...fields } = metadata;
  return { metadata: fields as Metadata, allow: allow ?? (inside as string[] | undefined) ?? null };
}
