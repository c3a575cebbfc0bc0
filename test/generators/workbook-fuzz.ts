import { type SeededRandom, seededRandom } from '../chaos/seeded-random.ts';
import { cutAt } from './byte-stream.ts';
import { naughtyNames, naughtyStrings } from './naughty-strings.ts';
import { type FuzzReport, mutate, noteOutcome, outcomeOf, tightLimits } from './reader-fuzz.ts';
import { cell, escapeXml, row, textRow, workbookEntries } from './workbook.ts';
import { type StoredEntry, zipOf } from './zip-archive.ts';

/** Mutates `count` workbooks and reads them; `fuzzWorkbooks(1, seed + i)` repeats input i of a run. */
export async function fuzzWorkbooks(count: number, seed: number): Promise<FuzzReport> {
  const report: FuzzReport = { inputs: 0, accepted: 0, refused: {} };
  const failures: string[] = [];
  for (let at = 0; at < count && failures.length < 10; at += 1) {
    const problem = await fuzzOne(seed + at, report);
    if (problem !== null) failures.push(`${problem}\n  replay with fuzzWorkbooks(1, ${seed + at})`);
  }
  if (failures.length > 0) throw new Error(`The reader failed on fuzzed workbooks:\n${failures.join('\n')}`);
  return report;
}

async function fuzzOne(seed: number, report: FuzzReport): Promise<string | null> {
  const random = seededRandom(seed);
  const entries = spoil(makeWorkbook(random), random);
  // Most mutations are in the parts: in the archive's bytes nearly every one is caught by the checksums.
  const file = random.below(5) === 0 ? mutate(zipOf(entries), random) : zipOf(entries);
  const bytes = Buffer.concat([file, ...entries.map(({ content }) => Buffer.from(content))]);
  const limits = random.below(3) === 0 ? { ...tightLimits, columnNameLength: 60 } : {};
  const offsets = Array.from({ length: random.below(8) }, () => random.below(file.length + 1));
  const pieceBytes = 1 + random.below(64);
  const whole = await outcomeOf(cutAt(file, []), { bytes, limits });
  const cut = await outcomeOf(cutAt(file, offsets), { bytes, limits: { ...limits, pieceBytes } });
  return noteOutcome(report, { whole, cut });
}

const formats = [14, 22, 46, 'yyyy-mm-dd hh:mm', '0.00', '[h]:mm', '"d"0;[Red]-0'];
const numbers = ['1', '0.30000000000000004', '45000.5', '1E+300', '12345678901234567', '-1', '60', '0', ''];

function makeWorkbook(random: SeededRandom): StoredEntry[] {
  const names = random.shuffle(naughtyNames).slice(0, 1 + random.below(4));
  const texts = Array.from({ length: 4 }, () => naughtyStrings[random.below(naughtyStrings.length)] ?? '');
  const rows = Array.from({ length: 1 + random.below(5) }, () =>
    row(...names.map(() => makeCell(random, texts))),
  );
  const strings = texts.map((text) => `<si><t xml:space="preserve">${xmlText(text)}</t></si>`).join('');
  const sheets = [{ rows: textRow(...names.map(xmlName)) + rows.join('') }, { rows: textRow('second') }];
  return workbookEntries({ sheets: random.below(2) === 0 ? sheets : sheets.slice(0, 1), strings, formats });
}

function makeCell(random: SeededRandom, texts: readonly string[]): string {
  const kind = random.below(6);
  if (kind === 0) return '';
  if (kind === 1) return cell(String(random.below(texts.length)), 't="s"');
  if (kind === 2) return cell(random.pick(['0', '1']) ?? '0', 't="b"');
  if (kind === 3) return cell('#N/A', 't="e"');
  if (kind === 4) return cell(random.pick(numbers) ?? '1', `s="${random.below(formats.length + 1)}"`);
  return `<c t="inlineStr"><is><r><t>${xmlText(random.pick(texts) ?? '')}</t></r></is></c>`;
}

/** What XML cannot hold is left out. */
function xmlText(text: string): string {
  return escapeXml(xmlName(text)).replaceAll('>', '&gt;');
}

function xmlName(text: string): string {
  return text.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '');
}

const insertions = [
  '<row r="3">',
  '</row>',
  '<c r="B2" t="s"><v>1</v></c>',
  '<c r="ZZ1"><v>1</v></c>',
  '<v>9</v>',
  '<f>1+1</f>',
  '<!DOCTYPE x [<!ENTITY y "z">]>',
  '&y;',
  '<!--',
  '<![CDATA[',
  ']]>',
  '_x0000_',
  '_xD800_',
  '\0',
  't="s"',
  'r="A1"',
  ' hasOwnProperty="1" a="2"',
  '<sheetData>',
  '<is><t>',
];

/** None to three parts have an accident; sometimes one is lost, or is another's. */
function spoil(entries: StoredEntry[], random: SeededRandom): StoredEntry[] {
  const spoilt = [...entries];
  for (let left = random.below(4); left > 0; left -= 1) {
    // The sheets come last, and are what most of the reader is about.
    const at = random.below(2) === 0 ? spoilt.length - 1 : random.below(spoilt.length);
    const entry = spoilt[at];
    if (entry === undefined) continue;
    const content = Buffer.from(entry.content);
    const kind = random.below(10);
    if (kind === 0) spoilt.splice(at, 1);
    else if (kind === 1) spoilt[at] = { ...entry, statedBytes: content.length + random.below(3) };
    else if (kind < 4) spoilt[at] = { ...entry, content: insertInto(content, random) };
    else if (kind < 7) spoilt[at] = { ...entry, content: replaceIn(content, random) };
    else spoilt[at] = { ...entry, content: mutate(content, random) };
  }
  return spoilt;
}

const replacements: [RegExp, string][] = [
  [/<v>[^<]*<\/v>/g, '<v>1E+999</v>'],
  [/<v>[^<]*<\/v>/g, '<f>1+1</f>'],
  [/<v>[^<]*<\/v>/g, '<v>7777</v>'],
  [/<t>[^<]*<\/t>/g, '<t>_x0000_</t>'],
  [/<t>[^<]*<\/t>/g, '<t>_xD83D_</t>'],
  [/<t>[^<]*<\/t>/g, '<t></t>'],
  [/<t>[^<]*<\/t>/g, '<t>one name</t>'],
  [/t="[^"]*"/g, 't="d"'],
  [/<sheet /g, '<sheet state="hidden" '],
];

/** A mutation that keeps the XML valid and changes one or all of its values. */
function replaceIn(content: Buffer, random: SeededRandom): Buffer {
  const text = content.toString();
  const [pattern, replacement] = random.pick(replacements) ?? [/$/g, ''];
  const places = [...text.matchAll(pattern)];
  const only = random.below(2) === 0 ? random.pick(places)?.index : undefined;
  return Buffer.from(
    text.replace(pattern, (found: string, at: number) =>
      only === undefined || at === only ? replacement : found,
    ),
  );
}

function insertInto(content: Buffer, random: SeededRandom): Buffer {
  const text = content.toString();
  const seams = [...text.matchAll(/[<>"]/g)].map(({ index }) => index);
  const at = random.pick(seams) ?? 0;
  return Buffer.from(text.slice(0, at) + (random.pick(insertions) ?? '') + text.slice(at));
}
