// Writes TypeScript types from an OpenAPI document: one interface per schema, and one map of all paths. Written here
// because the console needs exactly this much, in a form that a person can read and search.
const schemaPrefix = '#/components/schemas/';
const jsonMedia = 'application/json';

/** The text of console/src/api/types.ts. */
export function renderApiTypes(document) {
  const schemas = Object.entries(document.components?.schemas ?? {}).sort(byName);
  const paths = Object.entries(document.paths).sort(byName);
  const parts = [
    '// Written by `npm run generate` from openapi.json. Change the routes of the server, not this file.',
    ...schemas.map(([name, schema]) => renderSchema(name, schema)),
    [
      '/** Every path: per method its path parameters, query, JSON body and the reply when all went well. */',
      'export interface Paths {',
      ...paths.map(([path, item]) => renderPath(path, item)),
      '}',
    ].join('\n'),
  ];
  return `${parts.join('\n\n')}\n`;
}

function renderSchema(name, schema) {
  const comment = commentOf(schema.description, '');
  const isPlainObject = schema.type === 'object' && !schema.anyOf && !schema.oneOf && schema.properties;
  const type = typeOf(schema, '');
  return isPlainObject
    ? `${comment}export interface ${name} ${type}`
    : `${comment}export type ${name} = ${type};`;
}

function renderPath(path, item) {
  const operations = Object.entries(item).map(([method, operation]) => renderOperation(method, operation));
  return `  ${quoted(path)}: {\n${operations.join('\n')}\n  };`;
}

function renderOperation(method, operation) {
  const comment = commentOf([operation.summary, operation.description].filter(Boolean).join('. '), '    ');
  const indent = '      ';
  return [
    `${comment}    ${method}: {`,
    `${indent}path: ${parametersOf(operation, 'path', indent)};`,
    `${indent}query: ${parametersOf(operation, 'query', indent)};`,
    `${indent}body: ${bodyOf(operation, indent)};`,
    `${indent}reply: ${replyOf(operation, indent)};`,
    '    };',
  ].join('\n');
}

function parametersOf(operation, place, indent) {
  const found = (operation.parameters ?? []).filter((parameter) => parameter.in === place);
  if (found.length === 0) return 'undefined';
  const properties = found.map(({ name, schema, description }) => [name, { description, ...schema }]);
  const required = found.filter((parameter) => parameter.required).map(({ name }) => name);
  return objectOf({ properties: Object.fromEntries(properties), required }, indent);
}

function bodyOf(operation, indent) {
  const schema = operation.requestBody?.content?.[jsonMedia]?.schema;
  if (!schema) return 'undefined';
  const type = typeOf(schema, indent);
  return operation.requestBody.required === false ? `${type} | undefined` : type;
}

/** Replies other than JSON are text, and those without content are null. */
function replyOf(operation, indent) {
  const types = Object.entries(operation.responses)
    .filter(([status]) => status < '400')
    .map(([, { content }]) => {
      if (!content) return 'null';
      return content[jsonMedia] ? typeOf(content[jsonMedia].schema, indent) : 'string';
    });
  return [...new Set(types)].join(' | ');
}

function typeOf(schema, indent) {
  if (schema === undefined || schema === true || Object.keys(schema).length === 0) return 'unknown';
  if (schema.$ref) return schema.$ref.slice(schemaPrefix.length);
  if (schema.const !== undefined) return JSON.stringify(schema.const).replaceAll('"', "'");
  if (schema.enum) return schema.enum.map(literal).join(' | ');
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return [...new Set(choices.map((choice) => typeOf(choice, indent)))].join(' | ');
  if (schema.allOf) return schema.allOf.map((part) => inBrackets(typeOf(part, indent))).join(' & ');
  const types = [schema.type].flat();
  return types.map((type) => simpleTypeOf(type, schema, indent)).join(' | ');
}

function simpleTypeOf(type, schema, indent) {
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'string' || type === 'boolean' || type === 'null') return type;
  if (type === 'array') return arrayOf(schema, indent);
  if (type === 'object') return objectOf(schema, indent);
  return 'unknown';
}

function arrayOf({ items, prefixItems }, indent) {
  if (prefixItems) return `[${prefixItems.map((item) => typeOf(item, indent)).join(', ')}]`;
  return `${inBrackets(typeOf(items, indent))}[]`;
}

function objectOf({ properties = {}, required = [], additionalProperties }, indent) {
  const inner = `${indent}  `;
  const lines = Object.entries(properties).map(([name, schema]) => {
    const mark = required.includes(name) ? '' : '?';
    return `${commentOf(schema.description, inner)}${inner}${keyOf(name)}${mark}: ${typeOf(schema, inner)};`;
  });
  const isOpen = additionalProperties !== undefined && additionalProperties !== false;
  // An index signature has to admit every named property, so beside named ones it must stay unknown.
  if (isOpen && lines.length > 0) lines.push(`${inner}[name: string]: unknown;`);
  if (lines.length > 0) return `{\n${lines.join('\n')}\n${indent}}`;
  if (isOpen) return `Record<string, ${typeOf(additionalProperties, indent)}>`;
  return additionalProperties === false ? 'Record<string, never>' : 'Record<string, unknown>';
}

function commentOf(text, indent) {
  return text ? `${indent}/** ${text.replaceAll('*/', '* /').replaceAll(/\s+/g, ' ')} */\n` : '';
}

const byName = ([a], [b]) => (a < b ? -1 : 1);
const quoted = (text) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
const literal = (value) => (typeof value === 'string' ? quoted(value) : JSON.stringify(value));
const keyOf = (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name));
const inBrackets = (type) => (isJoined(type) ? `(${type})` : type);

/** Whether types are joined outside of any braces: `{ a: 1 | 2 }[]` needs no brackets, `{ … } | { … }[]` does. */
function isJoined(type) {
  let depth = 0;
  for (const [index, letter] of [...type].entries()) {
    if ('{(<['.includes(letter)) depth += 1;
    if ('})>]'.includes(letter)) depth -= 1;
    if (depth === 0 && (letter === '|' || letter === '&') && type[index - 1] === ' ') return true;
  }
  return false;
}
