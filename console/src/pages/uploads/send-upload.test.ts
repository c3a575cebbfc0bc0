import { expect, test } from 'vitest';
import { ApiProblem } from '../../api/client.ts';
import { isSameUpload, refusalsOf } from './send-upload.ts';

test('a refusal is shown at its field, with the next step', () => {
  const pointed = {
    code: 'upload_form_invalid',
    errors: [{ pointer: '/client_id', message: 'must be a UUID' }],
  };
  expect(refusalsOf(new ApiProblem(400, pointed))).toEqual({ client_id: 'must be a UUID' });
  const large = {
    code: 'report_too_large',
    detail: 'The file has more than 5000000 bytes',
    max_bytes: 5e6,
    errors: [{ pointer: '/file', message: 'is too large; allowed is …' }],
  };
  expect(refusalsOf(new ApiProblem(413, large)).file).toBe(
    'The file is larger than 5.0 MB, the most allowed. Split the report by date or campaign and upload the parts',
  );
  const image = { code: 'upload_not_text', detail: 'The file is a PNG image, and not CSV, JSON or XLSX' };
  expect(refusalsOf(new ApiProblem(415, image)).file).toMatch(/^The file is a PNG image.*Export the report/);
  const gone = { code: 'workspace_unknown', detail: 'The tenant has no workspace', errors: [] };
  expect(refusalsOf(new ApiProblem(403, gone))).toEqual({ workspace_id: 'The tenant has no workspace' });
});

test('a refusal without a field is shown for the whole form', () => {
  expect(refusalsOf(new ApiProblem(0, { code: 'unreachable' }))).toEqual({});
  expect(refusalsOf(new ApiProblem(400, { errors: [{ pointer: '/constructor', message: 'x' }] }))).toEqual(
    {},
  );
  expect(refusalsOf(new Error('something else'))).toEqual({});
});

test('two tries are the same upload only if file and fields are equal', () => {
  const file = new File(['a'], 'a.csv');
  const one = { file, platform: 'meta', workspaceId: 'w', clientId: '' } as const;
  expect(isSameUpload(one, { ...one })).toBe(true);
  expect(isSameUpload(one, { ...one, file: new File(['a'], 'a.csv') })).toBe(false);
  expect(isSameUpload(one, { ...one, clientId: 'c' })).toBe(false);
});
