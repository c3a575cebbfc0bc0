import { expect, test } from 'vitest';
import { kindOfFiles } from './chosen-files.ts';

const file = (name: string, type = '') => ({ name, type });

test('images or one archive are images, one other file is rows, and other mixtures are refused', () => {
  expect(kindOfFiles([file('a.PNG'), file('b', 'image/jpeg')])).toBe('images');
  expect(kindOfFiles([file('all.zip')])).toBe('images');
  expect(kindOfFiles([file('rows.csv')])).toBe('rows');
  expect(kindOfFiles([file('rows')])).toBe('rows');
  expect(kindOfFiles([])).toBe('rows');
  expect(kindOfFiles([file('a.png'), file('rows.csv')])).toBe('mixed');
  expect(kindOfFiles([file('a.csv'), file('b.csv')])).toBe('mixed');
  expect(kindOfFiles([file('a.zip'), file('b.zip')])).toBe('mixed');
});
