import sax from 'sax';
import { describe, expect, test } from 'vitest';
import { type SeededRandom, seededRandom } from '../../../test/chaos/seeded-random.ts';
import { mutate } from '../../../test/generators/reader-fuzz.ts';
import { defineErrors, isSluiceError } from '../errors.ts';
import { XmlReader } from './xml.ts';

const definition = { kind: 'invalid', status: 422, title: 'x', next: 'y' } as const;
const { raise } = defineErrors({ broken: definition });
const attributeNames = ['a', 'b', 'id', 'space'];

/** What a reader says, in one line each; texts that follow each other are one. */
class Transcript {
  readonly lines: string[] = [];
  #depth = 0;
  #text = '';

  open(name: string, attribute: (name: string) => string | null): void {
    this.#endText();
    this.#depth += 1;
    const values = attributeNames.map((one) => attribute(one)).map((value) => JSON.stringify(value));
    this.lines.push(`<${name} ${values.join(' ')}`);
  }

  close(name: string): void {
    this.#endText();
    this.#depth -= 1;
    this.lines.push(`>${name}`);
  }

  text(text: string): void {
    // Spaces around the root are no text of the document, though the library tells of them.
    if (this.#depth > 0) this.#text += text;
  }

  #endText(): void {
    if (this.#text !== '') this.lines.push(JSON.stringify(this.#text));
    this.#text = '';
  }
}

/** By our reader, cut into pieces of that size; a refusal is one line. */
function read(bytes: Buffer, { pieceBytes = 1_000_000, isStrict = true, maxDepth = 50 } = {}): string[] {
  const transcript = new Transcript();
  const reader = new XmlReader({
    events: transcript,
    broken: (why) => raise.broken(why),
    isStrict,
    maxDepth,
  });
  try {
    for (let at = 0; at < bytes.length; at += pieceBytes) reader.write(bytes.subarray(at, at + pieceBytes));
    reader.end();
  } catch (error) {
    if (!isSluiceError(error)) throw error;
    return [`refused: ${error.message}`];
  }
  return transcript.lines;
}

/** By the library, as it is for everybody. */
function readWithSax(text: string): string[] {
  const transcript = new Transcript();
  const parser = sax.parser(true, {});
  parser.onopentag = ({ name, attributes }) => {
    const all = Object.entries(attributes as Record<string, string>);
    const local = (full: string) => full.slice(full.indexOf(':') + 1);
    transcript.open(local(name), (wanted) => {
      const [, value] =
        all.find(([full]) => full === wanted) ?? all.find(([full]) => local(full) === wanted) ?? [];
      return value ?? null;
    });
  };
  parser.onclosetag = (name) => transcript.close(name.slice(name.indexOf(':') + 1));
  parser.ontext = (found) => transcript.text(found);
  parser.oncdata = (found) => transcript.text(found);
  parser.onerror = (error) => {
    throw error;
  };
  try {
    parser.write(text).close();
  } catch (error) {
    return [`refused: ${String(error).split('\n')[0]}`];
  }
  return transcript.lines;
}

const texts = [
  'x',
  ' ',
  '\n  ',
  'größe \u{1f600}',
  '&amp;&lt;&gt;',
  '&#228;&#x1F600;&quot;',
  '<![CDATA[<a>&b;]]>',
  '<!-- c -->',
  '<?pi x?>',
  ']]',
];
const values = ['', '1', 'A1', 'a>b', "it's", '&quot;&#10;', 'ü/>'];

function element(random: SeededRandom, depth: number): string {
  const name = random.pick(['row', 'c', 'v', 'x:t', 'é']) ?? 'c';
  const attributes = random
    .shuffle(['a', 'r:id', 'xml:space', 'b'])
    .slice(0, random.below(4))
    .map(
      (one) => `${random.pick([' ', '\n', '  '])}${one}${random.pick(['=', ' = '])}"${random.pick(values)}"`,
    );
  if (random.below(4) === 0) return `<${name}${attributes.join('')}${random.pick(['/', ' /'])}>`;
  const inside = Array.from({ length: random.below(4) }, () =>
    depth < 5 && random.below(2) === 0 ? element(random, depth + 1) : (random.pick(texts) ?? ''),
  );
  return `<${name}${attributes.join('')}>${inside.join('')}</${name}${random.pick(['', ' '])}>`;
}

const documentOf = (random: SeededRandom) =>
  `${random.pick(['', '<?xml version="1.0"?>\n', '<!-- first -->'])}${element(random, 0)}${random.pick(['', '\n'])}`;

describe('XML', () => {
  test('is read as a general parser reads it, wherever it is cut', () => {
    for (let seed = 1; seed <= 1_500; seed += 1) {
      const text = documentOf(seededRandom(seed));
      const expected = readWithSax(text);
      expect(expected[0], text).not.toContain('refused');
      const bytes = Buffer.from(text);
      for (const pieceBytes of [1_000_000, 1, 2, 7]) {
        expect(read(bytes, { pieceBytes }), `seed ${seed}: ${text}`).toEqual(expected);
      }
    }
  });

  test('is refused after a mutation, or read as a general parser reads it', () => {
    let taken = 0;
    for (let seed = 1; seed <= 3_000; seed += 1) {
      const random = seededRandom(seed);
      const bytes = mutate(Buffer.from(documentOf(random)), random);
      const ours = read(bytes, { isStrict: false });
      expect(read(bytes, { isStrict: false, pieceBytes: 3 }), `seed ${seed} in pieces`).toEqual(ours);
      if (ours[0]?.startsWith('refused')) continue;
      taken += 1;
      // Only the line breaks in texts differ: this reader makes them one kind, as XML says.
      const text = new TextDecoder().decode(bytes).replace(/\r\n?/g, '\n');
      if (ours.some((line) => line.startsWith('<') && line.includes('\\r'))) continue;
      expect(readWithSax(text), `seed ${seed}: ${text}`).toEqual(ours);
    }
    expect(taken).toBeGreaterThan(200);
  });

  test('is read in UTF-16 with a byte order mark, and line breaks become LF', () => {
    const text = '<a>ä\r\nb\rc&#13;</a>';
    const expected = ['<a null null null null', '"ä\\nb\\nc\\r"', '>a'];
    for (const pieceBytes of [1_000, 2, 3]) {
      expect(read(Buffer.from(`\ufeff${text}`, 'utf16le'), { pieceBytes })).toEqual(expected);
      expect(read(Buffer.from(`\ufeff${text}`), { pieceBytes })).toEqual(expected);
    }
  });

  test.each([
    ['a document type', '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', 'document type'],
    ['an entity that it does not define', '<a>&nbsp;</a>', 'unknown entity "&nbsp;"'],
    ['an ampersand that is not escaped', '<a>b & c</a>', 'unknown entity'],
    ['half a character by number', '<a>&#xD800;</a>', 'unknown entity'],
    ['a NUL by number', '<a b="&#0;"/>', 'unknown entity'],
    ['a tag that is not closed', '<a><b></a>', '</a> closes nothing'],
    ['an end that is missing', '<a><b>', 'ends in the middle'],
    ['text that is all', 'hello', 'text outside'],
    ['two roots', '<a/><b/>', 'two root elements'],
    ['an attribute twice', '<a b="1" b="2"/>', 'twice'],
    ['an attribute without quotes', '<a b=1/>', 'no value in quotes'],
    ['attributes without a space', '<a b="1"c="2"/>', 'no space'],
    ['an invalid name', '<1/>', 'is no name'],
    ['too many levels', '<a>'.repeat(51), 'nested too deeply'],
    ['a tag without an end', `<a ${' '.repeat(70_000)}`, 'has no end'],
    [
      'too many attributes',
      `<a ${Array.from({ length: 501 }, (_, at) => `a${at}="" `).join('')}/>`,
      'too many',
    ],
    ['nothing', '', 'ends in the middle'],
  ])('with %s is refused', (_, text, words) => {
    expect(read(Buffer.from(text))[0]).toContain('refused');
    expect(read(Buffer.from(text))[0]).toContain(words);
  });

  test('is refused when it is not UTF-8, unless the reader is not strict', () => {
    const bytes = Buffer.from('<a>\xe4</a>', 'latin1');
    expect(read(bytes)[0]).toContain('its text is not UTF-8');
    expect(read(bytes, { isStrict: false })[1]).toBe('"\ufffd"');
  });
});
