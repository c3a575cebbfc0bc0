import { z } from 'zod';

// Objects whose keys are the columns of somebody's file. Not `z.record`, which drops a key `__proto__`: that is a
// column like any other. Object.entries and Object.fromEntries deal in own properties only, so no prototype is touched.

/** For replies: what is given goes out as it is. */
export function columnRecord<Value>(value: z.ZodType<Value>): z.ZodType<Record<string, Value>> {
  return anyRecord(z.string(), value) as unknown as z.ZodType<Record<string, Value>>;
}

/** For input: each key and each value is checked, and what is wrong is said at its column. */
export function checkedColumns<Value>(column: z.ZodType<string>, value: z.ZodType<Value>) {
  return anyRecord(column, value).transform((given: unknown, context): Record<string, Value> => {
    if (typeof given !== 'object' || given === null || Array.isArray(given)) {
      context.addIssue({ code: 'custom', message: 'must be an object, for example {"Money out": "spend"}' });
      return z.NEVER;
    }
    const entries = Object.entries(given).map(([name, chosen]): [string, Value] => {
      const [key, checked] = [column.safeParse(name), value.safeParse(chosen)];
      for (const { message } of key.error?.issues ?? []) {
        context.addIssue({ code: 'custom', message: `has a header that is not allowed: ${message}` });
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
