import { describe, expect, test } from 'vitest';
import { foundLabels } from '../labels/found-labels.ts';
import { labelsOf } from '../labels/source-labels.ts';
import { readFrontMatter } from './front-matter.ts';
import { Properties } from './properties.ts';

const fields = (text: string) => readFrontMatter(`---\n${text}\n---\n# Text`)?.fields;

describe('front matter', () => {
  test.each([
    ['title: A title', { title: 'A title' }],
    ['title: "Quoted: with a colon" # note', { title: 'Quoted: with a colon' }],
    ["title: 'It''s'", { title: "It's" }],
    ['year: 2024\nprice: 1.5\ncode: 007', { year: 2024, price: 1.5, code: '007' }],
    ['draft: true\nempty:\nnone: ~', { draft: true, empty: null, none: null }],
    ['date: 2024-01-31', { date: '2024-01-31' }],
    ['url: https://example.com/a#b', { url: 'https://example.com/a#b' }],
    ['tags: [a, "b, c", \'d\']', { tags: ['a', 'b, c', 'd'] }],
    ['tags:\n  - a\n  - b # note', { tags: ['a', 'b'] }],
    ['tags:\n- a\n- b\nteam: x', { tags: ['a', 'b'], team: 'x' }],
    ['author:\n  name: Ann\n  email: a@b.example', { author: { name: 'Ann', email: 'a@b.example' } }],
    ['about: |\n  one\n  two\nx: 1', { about: 'one\ntwo', x: 1 }],
    ['about: >-\n  one\n  two', { about: 'one two' }],
    ['# a comment\n\nteam: x', { team: 'x' }],
    ['Last name: y', { 'Last name': 'y' }],
    ['no field here\n- nor here', {}],
  ])('%j is read', (text, expected) => {
    expect(fields(text)).toEqual(expected);
  });

  test.each([
    '# Text',
    'a\n---\nx: 1\n---',
    '---\nx: 1',
    '--- x\ny: 1\n---',
    `---\n${'x: 1\n'.repeat(5_000)}---`,
  ])('is not seen in %j', (text) => {
    expect(readFrontMatter(text.slice(0, 40_000))).toBeNull();
  });
});

describe('labels', () => {
  test('are made of what a document says, without what cannot be a field', () => {
    const found = {
      team: ' sales ',
      year: 2024,
      nothing: null,
      author: { name: 'Ann', deep: { er: 1 } },
      tags: ['a', { b: 1 }, null, 2],
      $or: 'x',
      'a\0b': 'c\0d',
      long: 'x'.repeat(2_000),
    };
    expect(foundLabels(found)).toEqual({
      metadata: {
        team: 'sales',
        year: 2024,
        'author.name': 'Ann',
        tags: ['a', 2],
        ab: 'cd',
        long: 'x'.repeat(1_000),
      },
      allow: null,
    });
  });

  test.each([
    [
      ['hr', 'legal'],
      ['hr', 'legal'],
    ],
    ['hr', ['hr']],
    [[1, ''], []],
    [{ hr: true }, []],
    [null, []],
  ])('with the access list %j let only %j in', (allow, expected) => {
    expect(foundLabels({ allow }).allow).toEqual(expected);
  });

  test('follow the rules of the source, of which later ones count more', () => {
    const rules = [
      { path_prefix: '', metadata: { team: 'all', area: 'docs' } },
      { path_prefix: '/hr/', metadata: { team: 'hr' }, allow: ['hr'] },
      { path_prefix: 'hr/public', allow: ['*'] },
    ];
    const of = (uri: string, metadata = {}) => labelsOf({ rules }, { uri, metadata });
    expect(of('file:a.md')).toEqual({ metadata: { team: 'all', area: 'docs' }, allow: null });
    expect(of('file:hr/a.md')).toEqual({ metadata: { team: 'hr', area: 'docs' }, allow: ['hr'] });
    expect(of('https://example.com/hr/a?b#c')).toMatchObject({ allow: ['hr'] });
    expect(of('https://example.com/hr%2Fa')).toMatchObject({ allow: ['hr'] });
    expect(of('file:hr/public/a.md')).toMatchObject({ allow: ['*'] });
    // A document cannot let more people in than its source does.
    expect(of('file:hr/a.md', { allow: ['*'], team: 'x', own: 1 })).toEqual({
      metadata: { team: 'hr', area: 'docs', own: 1 },
      allow: ['hr'],
    });
    expect(of('file:a.md', { allow: ['legal'] })).toMatchObject({ allow: ['legal'] });
  });
});

describe('properties of files', () => {
  test('have the same names in all formats, and dates that can be compared', () => {
    const properties = new Properties();
    properties.add('Author', ' Ann  Bee ');
    properties.add('dc.creator', 'Somebody else');
    properties.add('Keywords', 'oil; pump, valve');
    properties.add('CreationDate', "D:20240131120510+01'00'");
    properties.add('ModDate', 'D:20240201');
    properties.add('Producer', 'A program');
    properties.add('subject', '');
    expect(properties.fields).toEqual({
      author: 'Ann Bee',
      keywords: ['oil', 'pump', 'valve'],
      created: '2024-01-31T12:05:10+01:00',
      modified: '2024-02-01',
    });
  });
});
