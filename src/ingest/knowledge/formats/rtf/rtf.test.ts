import { describe, expect, test } from 'vitest';
import { readDocument } from '../read-document.ts';

const { signal } = new AbortController();

async function read(body: string, head = '\\ansi\\ansicpg1252') {
  const bytes = Buffer.from(`{\\rtf1${head} ${body}}`, 'latin1');
  const result = await readDocument({ name: 'a.rtf', bytes }, { signal });
  return result.kind === 'text' ? result : { ...result, text: '', metadata: {} };
}

const textOf = async (body: string, head?: string) => (await read(body, head)).text;

describe('an RTF document', () => {
  test('has its paragraphs, headings, characters and properties', async () => {
    const styles = '{\\stylesheet{\\s0 Normal;}{\\s1 heading 1;}}';
    const info = '{\\info{\\title On pumps}{\\author Ann Bee}{\\creatim\\yr2024}}';
    const start = `${styles}${info}\\pard\\s1 Care\\par\\pard `;
    const body = `${start}Gr\\'f6\\'dfe \\u8364?5, {\\b bold} and{\\v hidden}\\~kept.\\par`;
    const found = await read(body);
    expect(found).toMatchObject({ title: 'On pumps', metadata: { format: 'rtf', author: 'Ann Bee' } });
    expect(found.text).toBe('# Care\n\nGröße €5, bold and kept.');
  });

  test('says what of its margins was left out', async () => {
    const margins =
      '{\\header\\pard Confidential \\emdash  draft\\par}{\\footer Page {\\b 1}}{\\*\\annotation Really?}';
    expect(await read(`${margins}Text.\\par`)).toMatchObject({
      text: 'Text.',
      notes: ['Comments were left out.', 'Headers and footers were left out: Confidential draft · Page 1'],
    });
    expect(await read('Text.\\par')).toMatchObject({ notes: [] });
  });

  test('has its tables, and not its pictures, fonts and instructions', async () => {
    const row = (one: string, other: string) => `\\trowd\\intbl ${one}\\cell ${other}\\cell\\row`;
    const junk = '{\\fonttbl{\\f0 Arial;}}{\\pict 89504e47}{\\*\\generator Word;}';
    const link = '{\\field{\\*\\fldinst HYPERLINK "x"}{\\fldrslt the page}}';
    expect(
      await textOf(`${junk}${row('Part', 'Code')}${row('Seal', 'KX-4410')}\\pard See ${link}.\\par`),
    ).toBe('| Part | Code |\n| --- | --- |\n| Seal | KX-4410 |\n\nSee the page.');
  });

  test('is read in the encoding of its fonts', async () => {
    const fonts = '{\\fonttbl{\\f0\\fcharset0 A;}{\\f1\\fcharset204 B;}{\\f2\\fcharset128 C;}}';
    expect(await textOf(`${fonts}\\f1 \\'cf\\'f0\\'e8\\'e2\\'e5\\'f2 \\f2 \\'82\\'a0\\f0  \\'e9\\par`)).toBe(
      'Привет あ é',
    );
    expect(await textOf('\\uc2\\u1087 ??\\uc1\\u1088 ?\\par')).toBe('пр');
  });

  test('that is cut off, or has strange words, is read as far as it goes', async () => {
    expect(await textOf('One\\par Two {\\b thr')).toBe('One\n\nTwo thr');
    expect(await textOf('A\\bin3 {}}B\\foo-99999999999 C\\par')).toBe('ABC');
    expect(await read('{'.repeat(20_000))).toMatchObject({ kind: 'error', code: 'document_is_broken' });
  });
});
