import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { FakeRequest } from './fake-airbyte-api.ts';
import type { FakeRequestKind } from './fake-airbyte-troubles.ts';

type Schema = Parameters<typeof z.fromJSONSchema>[0];

interface Operation {
  line: string;
  /** Of the id at the end of the path. */
  id?: Schema;
  query?: Record<string, Schema>;
  body?: Schema;
  answer: Schema | string;
}

interface AirbyteDocument {
  operations: Record<FakeRequestKind, Operation>;
  schemas: Record<string, Schema>;
  lists: Record<string, string>;
}

const written = JSON.parse(
  readFileSync(new URL('airbyte-document.json', import.meta.url), 'utf8'),
) as AirbyteDocument;

const validators = new Map<Schema, z.ZodType>();

/** What of a request the document does not have, or has otherwise. Unknown parameters and fields count too. */
export function requestFaults(
  request: Pick<FakeRequest, 'kind' | 'method' | 'path' | 'query' | 'body'>,
): string[] {
  const { line, id, query = {}, body } = written.operations[request.kind];
  const faults: string[] = [];
  const [method = '', template = ''] = line.split(' ');
  if (request.method !== method) faults.push(`the method is ${request.method}, not ${method}`);
  if (id !== undefined)
    faults.push(...check(id, decodeURIComponent(request.path.split('/').at(-1) ?? ''), template));
  for (const [name, text] of Object.entries(request.query)) {
    const schema = query[name];
    if (schema === undefined) faults.push(`${line} has no parameter ${name}`);
    else faults.push(...check(schema, parameterOf(schema, text), `the parameter ${name}`));
  }
  if (body === undefined) {
    if (request.body !== '') faults.push(`${line} has no body`);
    return faults;
  }
  return [...faults, ...bodyFaults(body, request.body, line)];
}

/** What of a successful answer is not as the document has it. */
export function answerFaults(kind: FakeRequestKind, body: unknown): string[] {
  const { answer, line } = written.operations[kind];
  if (typeof answer !== 'string') return check(answer, body, `the answer to ${line}`);
  const listed = written.lists[answer];
  if (listed === undefined) return check(schemaOf(answer), body, `the answer to ${line}`);
  const list = z.looseObject({
    previous: z.string().optional(),
    next: z.string().optional(),
    data: z.array(validatorOf(schemaOf(listed))),
  });
  return faultsOf(list.safeParse(body), `the answer to ${line}`);
}

function bodyFaults(schema: Schema, text: string, line: string): string[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return [`the body of ${line} is not JSON`];
  }
  return check(schema, value, `the body of ${line}`);
}

function check(schema: Schema, value: unknown, what: string): string[] {
  return faultsOf(validatorOf(schema).safeParse(value), what);
}

function faultsOf(result: { success: boolean; error?: z.ZodError | undefined }, what: string): string[] {
  if (result.success) return [];
  return (result.error?.issues ?? []).map(
    ({ path, message }) => `${what}: ${path.join('.') || 'it'}: ${message}`,
  );
}

function validatorOf(schema: Schema): z.ZodType {
  const known = validators.get(schema);
  if (known !== undefined) return known;
  const made = z.fromJSONSchema(withRequired(schema));
  validators.set(schema, made);
  return made;
}

/** The document requires a name that it does not describe: it is there, whatever its value is. */
function withRequired(schema: Schema): Schema {
  if (typeof schema !== 'object' || schema.type !== 'object') return schema;
  const { required = [], properties = {} } = schema;
  const undescribed = required.filter((name) => !(name in properties));
  return {
    ...schema,
    properties: { ...properties, ...Object.fromEntries(undescribed.map((name) => [name, {}])) },
  };
}

function schemaOf(name: string): Schema {
  const schema = written.schemas[name];
  if (schema === undefined) throw new Error(`The document has no schema ${name}`);
  return schema;
}

/** A parameter is text; the document says what it stands for. */
function parameterOf(schema: Schema, text: string): unknown {
  const { type } = schema as { type?: string };
  if (type === 'integer') return /^-?\d+$/.test(text) ? Number(text) : text;
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
  return type === 'array' ? text.split(',') : text;
}
