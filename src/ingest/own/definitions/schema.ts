/** Standard Schema, https://standardschema.dev: schemas of zod, valibot and arktype implement it. */
export interface Schema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What may be handed in. */
export type InputOf<S extends Schema> = NonNullable<S['~standard']['types']>['input'];
/** What comes out of the check. */
export type OutputOf<S extends Schema> = NonNullable<S['~standard']['types']>['output'];

export function isSchema(value: unknown): value is Schema {
  const standard = (value as { '~standard'?: { validate?: unknown } } | null | undefined)?.['~standard'];
  return typeof standard?.validate === 'function';
}

/** The schema as JSON Schema, from libraries that can tell (https://standardschema.dev/json-schema); null otherwise. */
export function jsonSchemaOf(schema: Schema): Record<string, unknown> | null {
  const teller = (
    schema['~standard'] as { jsonSchema?: { input?(options: { target: string }): Record<string, unknown> } }
  ).jsonSchema;
  try {
    return teller?.input?.({ target: 'draft-2020-12' }) ?? null;
  } catch {
    // A transform, for instance, has no JSON Schema; the check itself still works.
    return null;
  }
}

/** `/lines/0/amount` */
export function pointerOf(path: SchemaIssue['path'] = []): string {
  const parts = path.map((part) => String(typeof part === 'object' ? part.key : part));
  return parts.map((part) => `/${part.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
