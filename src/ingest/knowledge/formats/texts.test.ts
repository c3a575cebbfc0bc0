import { describe, expect, test } from 'vitest';
import { readDocument } from './read-document.ts';
import type { DocumentLimits, DocumentText } from './types.ts';

const { signal } = new AbortController();
const read = (bytes: Buffer | string, name: string, limits: Partial<DocumentLimits> = {}) =>
  readDocument({ bytes: Buffer.from(bytes as string), name }, { signal, limits });

async function textOf(bytes: Buffer | string, name: string): Promise<DocumentText> {
  const result = await read(bytes, name);
  if (result.kind !== 'text') throw new Error(`No text: ${JSON.stringify(result)}`);
  return result;
}

describe('Markdown and plain text', () => {
  test('Markdown comes as it is, with the title that it gives itself', async () => {
    const text = '# Sluices #\n\nThey hold *water*.\n';
    expect(await textOf(text, 'docs/a.md')).toEqual({
      kind: 'text',
      title: 'Sluices',
      text,
      mediaType: 'text/markdown',
      notes: [],
      metadata: { format: 'markdown' },
    });
    expect((await textOf('---\ntitle: "Of locks"\n---\n# Other\n\ntext', 'a.md')).title).toBe('Of locks');
    expect((await textOf('Setext\n======\ntext', 'a.md')).title).toBe('Setext');
    expect((await textOf('```\n# no\n```\ntext', 'dir/notes.v2.md')).title).toBe('notes.v2');
  });

  test('lines end in one way', async () => {
    expect((await textOf('a\r\nb\rc\n', 'a.txt')).text).toBe('a\nb\nc\n');
  });

  test.each([
    ['UTF-8 with its mark', Buffer.from('\ufeffGrüße', 'utf8'), 'Grüße'],
    ['UTF-16 LE with its mark', Buffer.from('\ufeffGrüße', 'utf16le'), 'Grüße'],
    ['UTF-16 BE with its mark', Buffer.from('\ufeffGrüße', 'utf16le').swap16(), 'Grüße'],
    ['UTF-16 LE without', Buffer.from('plain words', 'utf16le'), 'plain words'],
    ['Windows-1252', Buffer.from([0x47, 0x72, 0xfc, 0xdf, 0x65, 0x20, 0x80, 0x39]), 'Grüße €9'],
    ['Shift_JIS', Buffer.from('82b182f182c982bf82cd90a28a45', 'hex'), 'こんにちは世界'],
    ['EUC-JP', Buffer.from('a4b3a4f3a4cba4c1a4cfc0a4b3a6', 'hex'), 'こんにちは世界'],
  ])('%s is decoded', async (_name, bytes, text) => {
    expect((await textOf(bytes, 'a.txt')).text).toBe(text);
  });

  test('a broken byte among much UTF-8 is replaced and noted, and the rest stays', async () => {
    const bytes = Buffer.concat([Buffer.from('Grüße und Küsse. '.repeat(9)), Buffer.from([0xff])]);
    const { text, notes } = await textOf(bytes, 'a.txt');
    expect(text).toBe(`${'Grüße und Küsse. '.repeat(9)}\ufffd`);
    expect(notes).toEqual(['Bytes that are not valid utf-8 were replaced.']);
  });

  test('NUL and broken surrogate pairs are removed from text and title, with a note', async () => {
    const { text, title, notes } = await textOf('# A\0B\n\nx\0y', 'a.md');
    expect([title, text]).toEqual(['AB', '# AB\n\nxy']);
    expect(notes).toEqual(['2 NUL characters were removed.']);
    const halves = Buffer.from('\ufeff# \ud800 half \udc00\n', 'utf16le');
    const halved = await textOf(halves, 'a.md');
    expect(halved.title).toBe('\ufffd half \ufffd');
    expect(halved.text).toBe('# \ufffd half \ufffd\n');
  });

  test('a long title is shortened between characters', async () => {
    const { title } = await textOf(`# ${'😀'.repeat(2_000)}`, 'a.md');
    expect(title.length).toBeLessThanOrEqual(300);
    expect(title).toMatch(/^😀+…$/u);
  });
});

describe('what has no text', () => {
  test.each([
    ['nothing', ''],
    ['spaces', ' \n\t\n'],
    ['a byte order mark', '\ufeff'],
    ['invisible characters', '\u200b\u2060\u00ad'],
  ])('%s is empty and no error', async (_name, text) => {
    expect(await read(text, 'a.txt')).toMatchObject({ kind: 'empty', title: 'a' });
  });

  test.each([
    ['an image by another name', '89504e470d0a1a0a0000', 'a.md', 'document_needs_ocr'],
    ['an archive', '504b030414000000080000000000', 'a.zip', 'document_is_binary'],
    ['control characters', '0001020304050607'.repeat(20), 'a.txt', 'document_is_binary'],
    ['a text that says it is a PDF', '68656c6c6f', 'a.pdf', 'pdf_is_broken'],
    ['a text that says it is a DOCX', '68656c6c6f', 'a.docx', 'docx_is_broken'],
  ])('%s is refused', async (_name, hex, name, code) => {
    const result = await read(Buffer.from(hex, 'hex'), name);
    expect(result).toMatchObject({ kind: 'error', code, title: 'a' });
  });

  test('more bytes than the limit are refused', async () => {
    const limits = { maxBytes: 10 };
    expect(await read('x'.repeat(10), 'a.txt', limits)).toMatchObject({ kind: 'text' });
    expect(await read('x'.repeat(11), 'a.txt', limits)).toMatchObject({
      kind: 'error',
      code: 'document_too_large',
    });
  });

  test('more text than the limit is refused', async () => {
    expect(await read('x'.repeat(101), 'a.txt', { maxTextUnits: 100 })).toMatchObject({
      kind: 'error',
      code: 'document_too_large',
    });
  });
});

describe('captions', () => {
  const vtt = [
    'WEBVTT - A talk',
    '',
    'STYLE',
    '::cue { color: red }',
    '',
    'NOTE not for reading',
    '',
    'intro',
    '00:00:01.000 --> 00:00:03.000 align:start',
    '<v Ada>Water <i>flows</i>',
    '',
    '00:03.000 --> 00:05.000',
    '<v Ada>down &amp; down.',
    '',
    '00:00:05.000 --> 00:00:06.000',
    '<v.loud Bob>Does it?',
    '',
    '00:01:06.000 --> 00:01:07.000',
    'Later.',
  ].join('\n');

  test('VTT becomes running text by speaker, without times, notes and styles', async () => {
    const { text, title, mediaType } = await textOf(vtt, 'talk.vtt');
    expect(text).toBe('Ada: Water flows down & down.\n\nBob: Does it?\n\nLater.');
    expect([title, mediaType]).toEqual(['talk', 'text/vtt']);
    expect((await textOf(vtt, 'without-ending')).mediaType).toBe('text/vtt');
  });

  test('SRT loses its numbers and marks, also without blank lines', async () => {
    const srt = [
      '1',
      '00:00:01,000 --> 00:00:02,000',
      '{\\an8}One <b>two</b>',
      '2',
      '00:00:02,000 --> 00:00:03,000',
      'ANNA: three',
      '',
      '3',
      '00:00:03,000 --> 00:00:04,000',
      '1984',
    ].join('\r\n');
    expect((await textOf(srt, 'a.srt')).text).toBe('One two ANNA: three 1984');
    expect((await textOf(srt, 'a')).mediaType).toBe('application/x-subrip');
  });

  test('lines of rolling captions are taken once', async () => {
    const cues = ['a b', 'a b\nc d', 'c d', 'c d\ne f'];
    const rolling = cues.map((cue, at) => `00:0${at}.000 --> 00:0${at + 1}.000\n${cue}\n`).join('\n');
    expect((await textOf(`WEBVTT\n\n${rolling}`, 'a.vtt')).text).toBe('a b c d e f');
  });

  test('a long talk has paragraphs that end with sentences', async () => {
    const cue = (at: number) =>
      `00:${String(at).padStart(2, '0')}.000 --> 00:${at + 1}.000\nSaid ${at} times.\n`;
    const talk = Array.from({ length: 58 }, (_, at) => cue(at + 1)).join('\n');
    const paragraphs = (await textOf(`WEBVTT\n\n${talk}`, 'a.vtt')).text.split('\n\n');
    expect(paragraphs.length).toBe(4);
    for (const paragraph of paragraphs) expect(paragraph).toMatch(/times\.$/);
  });
});
