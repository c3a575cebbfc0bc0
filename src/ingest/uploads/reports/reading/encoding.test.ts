import { describe, expect, test } from 'vitest';
import { encodeAs, readReport, recordsOf } from '../../../../../test/generators/report-documents.ts';
import { guessLegacy } from './encoding.ts';
import { sniffReport } from './sniff.ts';
import type { Encoding } from './types.ts';

const report = 'Day,Campaign\n2026-03-27,';

describe('the encoding of a report', () => {
  test.each<[string, Encoding, string, string]>([
    ['UTF-8 with a mark', 'utf-8', '\ufeff', 'Größe 日本 😀'],
    ['UTF-8 without a mark', 'utf-8', '', 'Größe 日本 😀'],
    ['UTF-16LE with a mark', 'utf-16le', '\ufeff', 'Größe 日本 😀'],
    ['UTF-16BE with a mark', 'utf-16be', '\ufeff', 'Größe 日本 😀'],
    ['UTF-16LE without a mark', 'utf-16le', '', 'Größe 日本'],
    ['UTF-16BE without a mark', 'utf-16be', '', 'キャンペーンの名前がとても長い場合'],
    ['Shift_JIS', 'shift_jis', '', '春のキャンペーン（関東）'],
    ['Shift_JIS with half-width kana', 'shift_jis', '', 'ｷｬﾝﾍﾟｰﾝ'],
    ['Shift_JIS of characters whose second byte is ASCII', 'shift_jis', '', 'ソース表示予約能力'],
    ['Windows-1252 in German', 'windows-1252', '', 'Größe für Öl, über €5'],
    ['Windows-1252 in French', 'windows-1252', '', 'Été préféré à la créée'],
    ['Windows-1252 in Portuguese', 'windows-1252', '', 'PROMOÇÃO de verão – coração'],
    ['Windows-1252 in Spanish', 'windows-1252', '', '¿Año nuevo? ¡Sí, señor!'],
    ['Windows-1252 with nothing but an apostrophe', 'windows-1252', '', 'Men’s shoes'],
    ['Windows-1252 with nothing but quotes and dashes', 'windows-1252', '', '“Sale” — don’t wait…'],
    ['Windows-1252 with nothing but a sign', 'windows-1252', '', 'Rabatt 5 £'],
  ])('is found: %s', async (_, encoding, mark, name) => {
    const read = await readReport(encodeAs(`${mark}${report}"${name}"\n`, encoding));
    expect(read.layout.encoding).toBe(encoding);
    expect(recordsOf(read)).toEqual([{ Day: '2026-03-27', Campaign: name }]);
  });

  test.each<[Encoding, string]>([
    ['utf-8', 'Größe'],
    ['shift_jis', '春のキャンペーン'],
    ['windows-1252', 'Größe für alle'],
  ])('is found when all but the last line is ASCII: %s', async (encoding, name) => {
    const ascii = `Day,Campaign\n${'2026-03-27,Spring sale\n'.repeat(20_000)}`;
    const bytes = encodeAs(`${ascii}2026-03-28,${name}\n`, encoding);
    const { layout, rows } = await readReport(bytes);
    expect(layout.encoding).toBe(encoding);
    expect(rows.at(-1)?.cells).toEqual(['2026-03-28', name]);
  });

  test('stays UTF-8 when a few bytes are damaged, and only they are replaced', async () => {
    const lines = `Day,Campaign\n${'1,Größe für alle\n'.repeat(50)}`;
    const bytes = Buffer.concat([
      Buffer.from(lines),
      Buffer.from([0x32, 0x2c, 0xff, 0xe3, 0x81, 0x0a, 0x33, 0x2c, 0x78]),
    ]);
    const { layout, rows } = await readReport(bytes);
    expect(layout.encoding).toBe('utf-8');
    expect(rows.at(-3)?.cells).toEqual(['1', 'Größe für alle']);
    expect(rows.slice(-2).map(({ cells }) => cells)).toEqual([
      ['2', '\ufffd\ufffd\ufffd'],
      ['3', 'x'],
    ]);
  });

  test('stays UTF-8 when the file is cut off in the middle of a character', async () => {
    const bytes = Buffer.from(`${report}Größe 日本`);
    const { layout, rows } = await readReport(bytes.subarray(0, -1));
    expect(layout.encoding).toBe('utf-8');
    expect(rows[0]?.cells[1]).toMatch(/^Größe 日\ufffd+$/);
  });

  test('replaces half a character of UTF-16, even at the end of the file', async () => {
    const bytes = Buffer.from(`\ufeff${report}x\ud800y,z`, 'utf16le');
    const { rows } = await readReport(Buffer.concat([bytes, Buffer.from([0x41])]));
    expect(rows[0]?.cells).toEqual(['2026-03-27', 'x\ufffdy', 'z\ufffd']);
  });

  test('does not lose a delimiter after a broken pair of Shift_JIS', async () => {
    const title = encodeAs('これは日本語の広告レポートです。\nDay,Campaign,Cost\n', 'shift_jis');
    const { rows } = await readReport(
      Buffer.concat([title, Buffer.from([0x31, 0x2c, 0x83, 0x2c, 0x35, 0x0a])]),
    );
    expect(rows[0]?.cells).toEqual(['1', '\ufffd', '5']);
  });
});

test('legacy encodings are distinguished by the characters around each other', () => {
  const japanese = ['広告', '東京都', 'セール開催中', '円', 'ﾘﾀｰｹﾞﾃｨﾝｸﾞ'];
  const latin = [
    'façade',
    'naïve',
    'élève',
    'José',
    'ÀÉÎ',
    'smørrebrød',
    '½ price',
    '100 °C',
    '«oui»',
    'Ä',
    '‘@home’ sale',
  ];
  for (const text of japanese) expect(guessLegacy(encodeAs(text, 'shift_jis')), text).toBe('shift_jis');
  for (const text of latin) expect(guessLegacy(encodeAs(text, 'windows-1252')), text).toBe('windows-1252');
});

describe('the first bytes of a file', () => {
  test.each([
    ['CSV', Buffer.from('Day,Cost\n')],
    ['UTF-16', Buffer.from('\ufeffDay,Cost\n', 'utf16le')],
    ['UTF-16 without a mark', Buffer.from('Day,Cost\n', 'utf16le')],
    ['Shift_JIS', encodeAs('日付,広告\n', 'shift_jis')],
    ['JSON', Buffer.from('[{"a":1}]')],
    ['a stray NUL', Buffer.from('Day,Cost\n1,\0\n')],
  ])('may be a report: %s', (_, bytes) => {
    expect(sniffReport(bytes)).toEqual({ ok: true });
  });

  test.each([
    ['nothing', Buffer.alloc(0), 'empty'],
    [
      'a workbook',
      Buffer.from('504b03041400000008000000210078 6c2f'.replace(' ', ''), 'hex'),
      'an Excel workbook (XLSX)',
    ],
    ['gzip', Buffer.from('1f8b0800', 'hex'), 'a gzip archive'],
    ['an image', Buffer.from('89504e470d0a1a0a', 'hex'), 'a PNG image'],
    ['zeros', Buffer.alloc(1000), 'binary and not text'],
    ['a web page', Buffer.from('\n<!DOCTYPE html><html>'), 'an HTML page'],
    ['XML', Buffer.from('<?xml version="1.0"?>'), 'an XML document'],
  ])('are not a report: %s', (_, bytes, what) => {
    expect(sniffReport(bytes)).toEqual({ ok: false, what });
  });
});
