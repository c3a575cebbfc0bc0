import { readFile } from 'node:fs/promises';

/** As much of a JSON schema as the routes use. */
export interface JsonSchema {
  type?: string;
  enum?: readonly unknown[];
  properties?: Record<string, JsonSchema>;
  required?: readonly string[];
  items?: JsonSchema;
  minItems?: number;
  anyOf?: readonly JsonSchema[];
  /** Shapes that a word in them tells apart. */
  oneOf?: readonly JsonSchema[];
  additionalProperties?: boolean | JsonSchema;
  propertyNames?: JsonSchema;
  format?: string;
  pattern?: string;
  minimum?: number;
  maxLength?: number;
  examples?: readonly unknown[];
  $ref?: string;
}

export interface DescribedRoute {
  method: string;
  /** With `:name` where the path names something. */
  url: string;
  query: { name: string; schema: JsonSchema }[];
  headers: string[];
  body: JsonSchema | null;
}

interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
}

interface Operation {
  parameters?: { in: string; name: string; schema: JsonSchema }[];
  requestBody?: { content: Record<string, { schema: JsonSchema }> };
}

/** Every request that openapi.json describes; another test compares the file with what a server serves. */
export async function readRoutes(): Promise<DescribedRoute[]> {
  const { paths } = JSON.parse(
    await readFile(new URL('../../openapi.json', import.meta.url), 'utf8'),
  ) as OpenApi;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
      query: (operation.parameters ?? []).filter((parameter) => parameter.in === 'query'),
      headers: (operation.parameters ?? []).flatMap(({ in: place, name }) =>
        place === 'header' ? [name] : [],
      ),
      body: operation.requestBody?.content['application/json']?.schema ?? null,
    })),
  );
}

/** The smallest body that the schema allows. */
export function exampleOf(schema: JsonSchema): unknown {
  if (schema.examples) return schema.examples[0];
  if (schema.enum) return schema.enum[0];
  const [first] = schema.anyOf ?? schema.oneOf ?? [];
  if (first) return exampleOf(first);
  if (schema.type === 'object') {
    const names = schema.required ?? [];
    return Object.fromEntries(names.map((name) => [name, exampleOf(schema.properties?.[name] ?? {})]));
  }
  if (schema.type === 'array') return schema.minItems ? [exampleOf(schema.items ?? {})] : [];
  if (schema.type === 'boolean') return true;
  if (schema.type === 'integer' || schema.type === 'number') return Math.max(1, schema.minimum ?? 1);
  if (schema.format === 'uuid') return '01890000-0000-7000-8000-000000000000';
  if (schema.format === 'date-time') return '2030-01-01T00:00:00Z';
  if (schema.format === 'uri') return 'https://example.com/docs';
  return 'an example';
}

export type Path = readonly string[];

/** A place in a body where a text goes: the value of a field, or (`isKey`) the name of one. */
export interface TextPlace {
  path: Path;
  isKey: boolean;
  schema: JsonSchema;
  /** Where the place is in one of several shapes: which one, where that begins, and its smallest value. */
  shape?: { name: string; path: Path; example: unknown };
}

/** Every text of a body, also in lists and in objects whose fields have any name. */
export function textPlaces(schema: JsonSchema, path: Path = []): TextPlace[] {
  if (schema.$ref) throw new Error(`Requests with ${schema.$ref} are not looked into. Teach textPlaces to.`);
  const inner = (schema.anyOf ?? []).flatMap((one) => textPlaces(one, path));
  const shaped = (schema.oneOf ?? []).flatMap((one) => {
    const shape = { name: shapeName(one), path, example: exampleOf(one) };
    return textPlaces(one, path).map((place) => ({ shape, ...place }));
  });
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, one]) =>
    textPlaces(one, [...path, name]),
  );
  const items = schema.items ? textPlaces(schema.items, [...path, '0']) : [];
  const keys = schema.propertyNames ? [{ path, isKey: true, schema: schema.propertyNames }] : [];
  const values =
    typeof schema.additionalProperties === 'object'
      ? textPlaces(schema.additionalProperties, [...path, '*'])
      : [];
  const own = schema.type === 'string' ? [{ path, isKey: false, schema }] : [];
  return [...own, ...inner, ...shaped, ...fields, ...items, ...keys, ...values];
}

/** The word that tells it from the others. */
function shapeName({ properties = {} }: JsonSchema): string {
  const words = Object.values(properties).filter(({ enum: choices }) => choices?.length === 1);
  return String(words[0]?.enum?.[0] ?? '');
}
