import { afterAll, describe, expect, test } from 'vitest';
import { AnswerChecks } from './answer-checks.ts';
import { jsonBlockOf } from './json-block.ts';
import { parseLlmOptions } from './options.ts';

const checks = new AnswerChecks();
afterAll(() => checks.close());
const check = (text: string, schema: Record<string, unknown>) =>
  checks.check({ text, schema }, { tenantId: 't' });
const base = { url: 'https://models.example/v1', model: 'small', prompt: 'What is {{name}}' };
const problemOf = (schema: object) => {
  try {
    parseLlmOptions({ ...base, schema });
    return null;
  } catch (error) {
    return (error as Error).message;
  }
};

describe('the schema of an answer', () => {
  test.each<[string, object, string]>([
    ['at its top', { type: 'string', pattern: '^(a+)+$' }, '/options/schema/pattern'],
    ['of a property', { properties: { a: { pattern: 'x' } } }, '/options/schema/properties/a/pattern'],
    ['in a choice', { anyOf: [{}, { items: { pattern: 'x' } }] }, '/options/schema/anyOf/1/items/pattern'],
    ['of names', { patternProperties: { '^(a+)+$': {} } }, '/options/schema/patternProperties'],
    ['of other names', { propertyNames: { pattern: 'x' } }, '/options/schema/propertyNames/pattern'],
    ['in a definition', { $defs: { a: { pattern: 'x' } } }, '/options/schema/$defs/a/pattern'],
  ])('is refused with the place of its pattern %s', (_where, schema, place) => {
    expect(problemOf(schema)).toContain(`${place} is not supported in the schema of an answer`);
  });

  test('may have members, values and names that are called pattern', () => {
    const properties = { pattern: { type: 'string', enum: ['pattern'] }, a: { const: { pattern: 'x' } } };
    expect(problemOf({ properties, required: ['pattern'] })).toBeNull();
  });
});

describe('an answer', () => {
  test('that fits comes back as JSON, also from a block of Markdown', async () => {
    const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] };
    expect(await check('{"a": 1}', schema)).toEqual({ valueJson: '{"a":1}' });
    expect(await check('Here:\n```json\n{"a": 2}\n```\nDone.', schema)).toEqual({ valueJson: '{"a":2}' });
    expect(await check('{"a": "1"}', schema)).toMatchObject({ problem: expect.stringMatching(/^a: /) });
    expect(await check('I am only a model.', schema)).toEqual({ problem: 'it is not JSON' });
  });

  test('that is nested too deeply is no server error', async () => {
    expect(await check('['.repeat(200_000), {})).toEqual({ problem: 'it is nested deeper than 64 levels' });
  });

  test('is found beside an opening fence that is never closed, in one pass', () => {
    const text = `\`\`\`${' '.repeat(5_000_000)}`;
    expect(jsonBlockOf(text)).toBe(text);
    expect(jsonBlockOf('```{"a":1}```')).toBe('{"a":1}');
  });

  test('whose schema unfolds for ever ends with that reason, and the next one is checked', {
    timeout: 60_000,
  }, async () => {
    const levels = Array.from({ length: 40 }, (_, at) => [
      `d${at}`,
      { anyOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] },
    ]);
    const schema = { $ref: '#/$defs/d0', $defs: { ...Object.fromEntries(levels), d40: { type: 'string' } } };
    expect(await check('1', schema)).toMatchObject({ problem: expect.stringContaining('took too long') });
    expect(await check('1', {})).toEqual({ valueJson: '1' });
  });
});
