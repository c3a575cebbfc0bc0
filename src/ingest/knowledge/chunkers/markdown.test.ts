import { describe, expect, test } from 'vitest';
import type { CountTokens } from './chunker.ts';
import { createChunker } from './create-chunker.ts';

/** A word is a token, so that sizes can be read off. */
const countTokens: CountTokens = (text) => text.split(/\s+/).length;
const chunker = createChunker({ strategy: 'markdown', maxTokens: 40 }, { countTokens });
const cut = (text: string) => [...chunker.chunks(text)];
const texts = (text: string) => cut(text).map((chunk) => chunk.text);

/** So many words, all of them different. */
function words(count: number, name = 'w'): string {
  return Array.from({ length: count }, (_, index) => `${name}${index}`).join(' ');
}

describe('Markdown', () => {
  test('is cut at headings, and a chunk knows the headings above it', () => {
    const found = cut(`intro\n\n# Guide\n\n${words(12)}\n\n## Install\n\nnpm ci\n\n# Other\n\nend`);
    expect(found.map(({ text, headingPath }) => [text.split('\n')[0], headingPath])).toEqual([
      ['intro', []],
      ['# Guide', ['Guide']],
      ['## Install', ['Guide', 'Install']],
      ['# Other', ['Other']],
    ]);
  });

  test('joins headings without text to the section below them, and leaves the last one alone', () => {
    expect(texts('# A\n\n## B\n\nb\n\n## C')).toEqual(['# A\n\n## B\n\nb', '## C']);
    expect(cut('# A\n\n## B\n\nb')[0]?.headingPath).toEqual(['A', 'B']);
  });

  test('gives the same words below different headings one hash', () => {
    const [first, second] = cut(`# A\n\n${words(30)}\n\n${words(20, 'x')}\n\n# B\n\n${words(20, 'x')}`).slice(
      1,
    );
    expect(first?.headingPath).toEqual(['A']);
    expect(second?.headingPath).toEqual(['B']);
    // The heading's own line is text, so only chunks that do not hold it are the same.
    expect(first?.contentHash).not.toBe(second?.contentHash);
    const [, again] = cut(`# C\n\n${words(30, 'y')}\n\n${words(20, 'x')}`);
    expect(again?.contentHash).toBe(first?.contentHash);
  });

  test('joins a short paragraph to the next one, and a short rest to the one before', () => {
    expect(texts(`Note:\n\n${words(20)}\n\nDone.`)).toEqual([`Note:\n\n${words(20)}\n\nDone.`]);
    expect(texts('a\n\nb\n\nc')).toEqual(['a\n\nb\n\nc']);
  });

  test('gives paragraphs of at least a quarter of a chunk their own chunk', () => {
    expect(texts(`${words(10, 'a')}\n\n${words(10, 'b')}`)).toEqual([words(10, 'a'), words(10, 'b')]);
  });

  test('keeps code whole if it fits, even without its lead-in', () => {
    const code = `\`\`\`js\n${words(19, 'a')}\n\n${words(18, 'b')}\n\`\`\``;
    expect(texts(`Like this one here:\n\n${code}`)).toEqual(['Like this one here:', code]);
  });

  test('cuts longer code between lines, a table between rows, a list between items', () => {
    const lines = Array.from({ length: 30 }, (_, index) => words(4, `l${index}x`));
    const isWhole = (mark: string) => (part: string) =>
      lines.map((line) => mark + line).includes(part.replace(/ \|$/, ''));
    const partsOf = (text: string) => texts(text).flatMap((chunk) => chunk.split('\n'));
    expect(texts(lines.join('\n')).length).toBeGreaterThan(3);
    expect(
      partsOf(`\`\`\`\n${lines.join('\n')}\n\`\`\``)
        .slice(1, -1)
        .every(isWhole('')),
    ).toBe(true);
    expect(partsOf(lines.map((line) => `- ${line}`).join('\n')).every(isWhole('- '))).toBe(true);
    const table = `| h |\n|---|\n${lines.map((line) => `| ${line} |`).join('\n')}`;
    expect(partsOf(table).slice(2).every(isWhole('| '))).toBe(true);
    expect(texts(table)[0]).toMatch(/^\| h \|\n\|---\|\n\| l0/);
  });

  test('cuts a long paragraph between sentences, and a long sentence between words', () => {
    const sentences = Array.from({ length: 12 }, (_, index) => `${words(7, `s${index}x`)}.`);
    const found = texts(sentences.join(' '));
    expect(found.length).toBeGreaterThan(2);
    for (const text of found) expect(text).toMatch(/^s\d+x0 .*x6\.$/);
    expect(texts(words(100)).join(' ')).toBe(words(100));
  });

  test('keeps a heading with the start of a paragraph that leaves no room for it', () => {
    const paragraph = Array.from({ length: 5 }, (_, index) => `${words(8, `s${index}x`)}.`).join(' ');
    const [first, second, ...others] = texts(`# A title of some words\n\n${paragraph}`);
    expect(first).toMatch(/^# A title of some words\n\ns0x0/);
    expect(second).toMatch(/x7\.$/);
    expect(others).toEqual([]);
  });

  test('gives front matter its own chunk', () => {
    expect(texts('---\ntitle: A\n---\n\ntext')).toEqual(['---\ntitle: A\n---', 'text']);
  });

  test('keeps code in an item whole', () => {
    const code = `  \`\`\`\n  - ${words(10, 'a')}\n  - ${words(10, 'b')}\n  \`\`\``;
    const list = `- ${words(30, 'c')}\n- see\n${code}\n- ${words(30, 'd')}`;
    expect(texts(list).filter((text) => text.includes('a0') && text.includes('b9'))).toHaveLength(1);
  });
});
