import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { markdownBlocks } from './markdown-blocks.ts';

/** Each block as `kind: text`. */
function found(text: string): string[] {
  return [...markdownBlocks(text)].map(({ kind, start, end }) => `${kind}: ${text.slice(start, end)}`);
}

function paths(text: string): string[] {
  return [...markdownBlocks(text)].map(({ headingPath }) => headingPath.join(' / '));
}

describe('headings', () => {
  test('are found with number signs and underlined', () => {
    expect(found('# One\ntext\n\nTwo\n===\nmore\n\nThree\n---\n')).toEqual([
      'heading: # One',
      'paragraph: text',
      'heading: Two\n===',
      'paragraph: more',
      'heading: Three\n---',
    ]);
  });

  test('make the path of what stands below them, without marks', () => {
    const text = '# A #\n\na\n\n### C\n\nc\n\n## B ##\n\nb\n\n# D\n\nd';
    expect(paths(text)).toEqual(['A', 'A', 'A / C', 'A / C', 'A / B', 'A / B', 'D', 'D']);
  });

  test('are not found in code, without a blank, with seven signs, or below a long paragraph', () => {
    expect(found('```\n# no\n```')).toEqual(['fence: ```\n# no\n```']);
    expect(found('#no')).toEqual(['paragraph: #no']);
    expect(found('####### no')).toEqual(['paragraph: ####### no']);
    const long = 'word '.repeat(100).trim();
    expect(found(`${long}\n---`)).toEqual([`paragraph: ${long}`, 'paragraph: ---']);
  });

  test('begin a section each', () => {
    const sections = [...markdownBlocks('a\n\n# B\nb\n# C\nc')].map(({ section }) => section);
    expect(sections).toEqual([0, 1, 1, 2, 2]);
  });
});

describe('code', () => {
  test('extends to the same fence, or to the end of the text', () => {
    expect(found('~~~~\n~~~\n```\n\n~~~~\nx')).toEqual(['fence: ~~~~\n~~~\n```\n\n~~~~', 'paragraph: x']);
    expect(found('```js\na\n\n# b')).toEqual(['fence: ```js\na\n\n# b']);
  });

  test('within a sentence is not a fence', () => {
    expect(found('``` a ``` b\nc')).toEqual(['paragraph: ``` a ``` b\nc']);
  });
});

describe('lists', () => {
  test('contain their items, paragraphs, code and nested lists', () => {
    const list = '- a\n  more\n\n  par\n\n  ```\n  # no\n  - no\n  ```\n  1. b\n\n- c';
    expect(found(`${list}\n\nafter`)).toEqual([`list: ${list}`, 'paragraph: after']);
  });

  test('end at a heading, a rule or a fence outside of them, and an unclosed fence ends with its item', () => {
    expect(found('- a\n# H')).toEqual(['list: - a', 'heading: # H']);
    expect(found('* a\n***\nb')).toEqual(['list: * a', 'paragraph: ***', 'paragraph: b']);
    expect(found('- a\n```\nb\n```')).toEqual(['list: - a', 'fence: ```\nb\n```']);
    expect(found('- ```\n  a\n\nb\n\n# H')).toEqual(['list: - ```\n  a', 'paragraph: b', 'heading: # H']);
  });

  test('interrupt a paragraph, but a wrapped number does not', () => {
    expect(found('a\n- b')).toEqual(['paragraph: a', 'list: - b']);
    expect(found('born in\n1984. A year.')).toEqual(['paragraph: born in\n1984. A year.']);
  });
});

describe('tables and front matter', () => {
  test('a table has a row of dashes below its head and ends without bars', () => {
    const table = '| a | b |\n|---|:-:|\n| 1 | 2 |';
    expect(found(`intro\n${table}\nafter`)).toEqual([
      'paragraph: intro',
      `table: ${table}`,
      'paragraph: after',
    ]);
    expect(found('a | b\nc | d')).toEqual(['paragraph: a | b\nc | d']);
  });

  test('front matter stands at the beginning, is closed, and is a section of its own', () => {
    const text = '---\ntitle: x\n---\n# H';
    expect(found(text)).toEqual(['front_matter: ---\ntitle: x\n---', 'heading: # H']);
    expect([...markdownBlocks('---\na: b\n---\nc')].map(({ section }) => section)).toEqual([0, 1]);
    expect(found('---\n\ntitle')).toEqual(['paragraph: ---', 'paragraph: title']);
  });
});

test('blocks of any text follow one another and leave out only blanks', () => {
  const mark = fc.constantFrom(
    ...[
      '# ',
      '- ',
      '1. ',
      '```',
      '~~~',
      '| a |',
      '|-|',
      '===',
      '---',
      '> ',
      '  ',
      '\n',
      '\n\n',
      '\r\n',
      '\t',
    ],
    ...['word', 'é😀', '.', '|', '\0'],
  );
  fc.assert(
    fc.property(fc.array(mark, { maxLength: 60 }), (marks) => {
      const text = marks.join('');
      let at = 0;
      for (const { start, end } of markdownBlocks(text)) {
        expect(text.slice(at, start).trim()).toBe('');
        expect(end).toBeGreaterThan(start);
        expect(text.slice(start, end)).toBe(text.slice(start, end).trim());
        at = end;
      }
      expect(text.slice(at).trim()).toBe('');
    }),
    { numRuns: 2_000 },
  );
});
