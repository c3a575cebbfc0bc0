import { randomBytes } from 'node:crypto';
import { constants, crc32, deflateRawSync } from 'node:zlib';
import type { Bomb } from './bombs.ts';
import { sheetXml, textRow, type WorkbookSpec, workbookEntries } from './workbook.ts';
import { type StoredEntry, zipOf } from './zip-archive.ts';

const mebibyte = 1024 * 1024;
const sheet = 'xl/worksheets/sheet1.xml';
const head = textRow('a', 'b');
const fine: WorkbookSpec = { sheets: [{ rows: head + textRow('1', '2') }] };

/** A workbook in which one part is replaced by an entry with possibly false headers. */
function withEntry(name: string, entry: Omit<StoredEntry, 'name'>, spec: WorkbookSpec = fine): Buffer {
  const entries = workbookEntries(spec).filter((one) => one.name !== name);
  return zipOf([...entries, { name, ...entry }]);
}

const withPart = (name: string, content: string, spec?: WorkbookSpec) => withEntry(name, { content }, spec);
const withRows = (rows: string, more: Partial<WorkbookSpec> = {}) =>
  withPart(sheet, sheetXml(rows), { ...fine, ...more });

/** A gigabyte of one character behind a beginning, made of blocks that are compressed once. */
function gigabyteOf(character: string, start: string): Omit<StoredEntry, 'name'> {
  const options = { finishFlush: constants.Z_FULL_FLUSH };
  const block = deflateRawSync(Buffer.alloc(mebibyte, character), options);
  const blocks = Array.from({ length: 1024 }, () => block);
  const packed = Buffer.concat([deflateRawSync(start, options), ...blocks, deflateRawSync('')]);
  return { content: '', packed, statedBytes: start.length + 1024 * mebibyte };
}

const sheetStart = sheetXml('').split('</sheetData>')[0] ?? '';
const many = (count: number, make: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => make(at)).join('');
const letter = (at: number) => String.fromCharCode(97 + at);
/** Each entity is ten times the previous one: the last would be 10^20 letters. */
const multiplied = many(20, (at) => `<!ENTITY ${letter(at + 1)} "${`&${letter(at)};`.repeat(10)}">`);
const laughs = `<!DOCTYPE l [<!ENTITY a "ha">${multiplied}]>`;
const longNames = textRow(...Array.from({ length: 1_000 }, (_, at) => `${at}`.padEnd(200, 'x')));

/** In pieces: the test that measures memory also runs this. */
function millionTexts(): Buffer {
  const pieces = Array.from({ length: 1_000 }, (_, piece) =>
    Buffer.from(many(1_000, (at) => `<si><t>${(piece * 1_000 + at) * 7_919} of many</t></si>`)),
  );
  return Buffer.concat([Buffer.from('<sst>'), ...pieces, Buffer.from('</sst>')]);
}

const bombs: readonly Bomb[] = [
  {
    what: 'a workbook with a sheet of a gigabyte of zeros',
    content: () => [withEntry(sheet, gigabyteOf('\0', sheetStart))],
  },
  {
    what: 'a workbook with a sheet of a gigabyte of spaces',
    content: () => [withEntry(sheet, gigabyteOf(' ', sheetStart))],
  },
  {
    what: 'a workbook with a gigabyte in one cell',
    content: () => [withEntry(sheet, gigabyteOf('x', `${sheetStart}${head}<row><c t="str"><v>`))],
  },
  {
    what: 'a workbook with a million shared texts and no row',
    content: () => [
      withEntry(
        'xl/sharedStrings.xml',
        { content: millionTexts() },
        { sheets: [{ rows: head }], strings: '' },
      ),
    ],
  },
  {
    what: 'a workbook with a long text that every cell names',
    content: () => [
      withRows(head + '<row><c t="s"><v>0</v></c><c t="s"><v>0</v></c></row>'.repeat(100_000), {
        strings: `<si><t>${'long '.repeat(100_000)}</t></si>`,
      }),
    ],
  },
  {
    what: 'a workbook with long names over empty rows',
    content: () => [withRows(longNames + '<row><c><v>1</v></c></row>'.repeat(200_000))],
  },
  {
    what: 'a workbook with elements within elements',
    content: () => [withRows(`${head}${'<row>'.repeat(1_000_000)}`)],
  },
  {
    what: 'a workbook with a comment without an end',
    content: () => [withRows(`${head}<!--${many(200_000, (at) => ` ${at * 7_919}`)}`)],
  },
  {
    what: 'a workbook with very many attributes',
    content: () => [withRows(`${head}<row ${many(200_000, (at) => `a${at}="${at * 7_919}" `)}/>`)],
  },
  {
    what: 'a workbook with an attribute without an end',
    content: () => [withRows(`${head}<row r="${many(200_000, (at) => ` ${at * 7_919}`)}`)],
  },
  {
    what: 'a workbook with very many cells in the header',
    content: () => [withRows(`<row>${many(16_384, (at) => `<c><v>${at}</v></c>`)}</row>`)],
  },
  {
    what: 'a workbook with entities that multiply, in its sheet',
    content: () => [withPart(sheet, `${laughs}${sheetXml(textRow('&u;'))}`)],
  },
  {
    what: 'a workbook with entities that multiply, in its main part',
    content: () => [withPart('xl/workbook.xml', `${laughs}<workbook>&u;</workbook>`)],
  },
  {
    what: 'a workbook of a hundred thousand parts',
    content: () => {
      const parts = Array.from({ length: 100_000 }, (_, at) => ({
        name: `xl/${at}`,
        content: '',
        isStored: true,
      }));
      return [zipOf([...workbookEntries(fine), ...parts])];
    },
  },
  {
    what: 'a workbook with very many sheets',
    content: () => [
      withPart(
        'xl/workbook.xml',
        `<workbook><sheets>${many(200_000, (at) => `<sheet name="${at}"/>`)}</sheets></workbook>`,
      ),
    ],
  },
];

/** Workbooks that a reader of rows or of reports must not choke on. They cost more to make than to refuse. */
export const workbookBombs: readonly Bomb[] = bombs.map(({ what, content }) => {
  let made: Iterable<Uint8Array> | null = null;
  return {
    what,
    content: () => {
      made ??= content();
      return made;
    },
  };
});

/**
 * Not refused: 149 MB of short shared texts in less than a megabyte, just within the allowed ratio. Reading
 * it takes seconds.
 */
export function greedyWorkbook(): Buffer {
  greedy ??= makeGreedy();
  return greedy;
}

let greedy: Buffer | null = null;

function makeGreedy(): Buffer {
  const options = { finishFlush: constants.Z_FULL_FLUSH };
  const text = '<si><t>a</t></si>';
  // Without something that cannot be compressed, the ratio would be a thousand.
  const filler = Array.from({ length: 8 }, () => `<si><t>${randomBytes(270).toString('hex')}</t></si>`).join(
    '',
  );
  const content = Buffer.from(filler + text.repeat(Math.floor((mebibyte - filler.length) / text.length)));
  const block = deflateRawSync(content, options);
  const [start, end] = ['<sst>', '</sst>'];
  const packed = Buffer.concat([
    deflateRawSync(start, options),
    ...Array.from({ length: greedyMebibytes }, () => block),
    deflateRawSync(end),
  ]);
  const contents = [start, ...Array.from({ length: greedyMebibytes }, () => content), end];
  const crc = contents.reduce((sum, piece) => crc32(piece, sum), 0);
  const statedBytes = start.length + end.length + greedyMebibytes * content.length;
  return withEntry(
    'xl/sharedStrings.xml',
    { content: '', packed, statedBytes, crc },
    { ...fine, strings: '' },
  );
}

const greedyMebibytes = 142;
