import multipart from '@fastify/multipart';
import fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { defineErrors, isSluiceError } from '../../lib/errors.ts';
import { dropRest, FormReader, type FormRules, plainName } from './multipart.ts';

const definition = { kind: 'invalid', status: 400, title: 'Wrong', next: 'Send another form.' } as const;
const { raise } = defineErrors({ wrong: definition, large: definition, field: definition, cut: definition });
const errors = {
  invalid: raise.wrong,
  fileTooLarge: raise.large,
  fieldTooLarge: raise.field,
  cutOff: raise.cut,
};
const usual: FormRules = {
  fields: ['name', 'options'],
  maxFieldBytes: 100,
  maxFiles: 2,
  maxFileBytes: 1_000,
  filePart: 'file',
  allowed: 'name, options, file',
  errors,
};

let app: FastifyInstance;
let rules = usual;

beforeAll(async () => {
  app = fastify();
  await app.register(multipart);
  app.post('/', async (request, reply) => {
    try {
      return await readAll(new FormReader(request, rules));
    } catch (error) {
      dropRest(request);
      if (!isSluiceError(error)) throw error;
      const { code, message, fields, details } = error;
      return reply.code(400).send({ code, message, fields, details });
    }
  });
});
afterAll(() => app.close());

async function readAll(form: FormReader) {
  const files: object[] = [];
  for (let file = await form.nextFile(); file !== null; file = await form.nextFile()) {
    let text = '';
    for await (const chunk of file.content) text += Buffer.from(chunk).toString();
    files.push({ name: plainName(file, form), type: file.mediaType, text });
  }
  return { files, texts: form.texts(), options: form.json('options') };
}

interface Part {
  name: string;
  value: string;
  filename?: string;
  headers?: string;
}

async function send(parts: Part[], { end = '--x--\r\n', type = 'multipart/form-data; boundary=x' } = {}) {
  const texts = parts.map(({ name, value, filename, headers = '' }) => {
    const file = filename === undefined ? '' : `; filename="${filename}"`;
    return `--x\r\ncontent-disposition: form-data; name="${name}"${file}\r\n${headers}\r\n${value}\r\n`;
  });
  const payload = `${texts.join('')}${end}`;
  const reply = await app.inject({ method: 'POST', url: '/', headers: { 'content-type': type }, payload });
  return reply.json();
}

describe('a form', () => {
  const file: Part = {
    name: 'file',
    value: 'a,b',
    filename: 'rows.csv',
    headers: 'content-type: text/csv\r\n',
  };
  const read = [{ name: 'rows.csv', type: 'text/csv', text: 'a,b' }];

  test('may have its fields before and after its files', async () => {
    const name = { name: 'name', value: 'n' };
    const options = { name: 'options', value: '{"a":1}' };
    const texts = { name: 'n', options: '{"a":1}' };
    expect(await send([name, options, file])).toEqual({ files: read, texts, options: { a: 1 } });
    expect(await send([file, options, name])).toEqual({ files: read, texts, options: { a: 1 } });
  });

  test('may have fields that are declared as JSON', async () => {
    const headers = 'content-type: application/json\r\n';
    const reply = await send([{ name: 'options', value: '{"a":1}', headers }]);
    expect(reply).toEqual({ files: [], texts: { options: '{"a":1}' }, options: { a: 1 } });
  });

  test('a body that is not a form is refused', async () => {
    const message = expect.stringContaining('names no boundary');
    expect(await send([], { type: 'multipart/form-data' })).toMatchObject({ code: 'wrong', message });
  });

  test.each<[string, Part[], object]>([
    ['an unknown field', [{ name: 'x', value: '' }], { code: 'wrong', fields: [{ pointer: '/x' }] }],
    [
      'a field twice',
      [
        { name: 'name', value: '' },
        { name: 'name', value: '' },
      ],
      { code: 'wrong' },
    ],
    ['a field that is too large', [{ name: 'name', value: 'n'.repeat(101) }], { code: 'field' }],
    ['a field that is not JSON', [file, { name: 'options', value: '{' }], { code: 'wrong' }],
    ['a file in another part', [{ ...file, name: 'x' }], { code: 'wrong', fields: [{ pointer: '/x' }] }],
    ['text where a file belongs', [{ name: 'file', value: 'a' }], { fields: [{ pointer: '/file' }] }],
    ['a file that is too large', [{ ...file, value: 'x'.repeat(1_001) }], { code: 'large' }],
    ['too many files', [file, file, file], { code: 'wrong', message: 'The form has more than 2 files' }],
    ['a file name that is too long', [{ ...file, filename: 'n'.repeat(501) }], { code: 'wrong' }],
    ['an encoded file', [{ ...file, headers: 'content-transfer-encoding: base64\r\n' }], { code: 'wrong' }],
    ['the name __proto__', [{ name: '__proto__', value: '' }], { code: 'wrong' }],
  ])('with %s is refused', async (_what, parts, problem) => {
    expect(await send(parts)).toMatchObject(problem);
  });

  test('a form that breaks off is refused, in its fields and in its files', async () => {
    expect(await send([file], { end: '' })).toMatchObject({ code: 'cut' });
    expect(await send([{ name: 'name', value: 'n' }], { end: '--x\r\ncontent-dis' })).toMatchObject({
      code: 'cut',
    });
  });

  test('may have any field where the house checks them itself, but only 20', async () => {
    rules = { ...usual, fields: null };
    const fields = Array.from({ length: 21 }, (_, n) => ({ name: `f${n}`, value: String(n) }));
    expect(await send(fields.slice(0, 2))).toMatchObject({ texts: { f0: '0', f1: '1' } });
    expect(await send(fields)).toMatchObject({ code: 'wrong' });
    rules = usual;
  });

  test('may have files in any part, with their paths', async () => {
    rules = { ...usual, filePart: null, keepsPaths: true };
    const reply = await send([{ ...file, name: 'x', filename: 'a/rows.csv' }]);
    expect(reply).toMatchObject({ files: [{ name: 'a/rows.csv' }] });
    rules = usual;
  });
});
