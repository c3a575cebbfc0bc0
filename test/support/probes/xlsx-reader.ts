import { spawnSync } from 'node:child_process';
import { inflateRawSync } from 'node:zlib';

/** A cell as it stands in the file: numbers keep their text, so that lost digits show. */
export type ReadCell = { type: 'text' | 'number' | 'boolean'; value: string } | null;

/** Sheets of rows of cells, the header included. */
export type ReadWorkbook = ReadCell[][][];

/** Reads with nothing but node:zlib and patterns: quick, and strict about exactly what our writer makes. */
export function readWorkbook(file: Buffer): ReadWorkbook {
  const parts = unzip(file);
  const sheets: ReadWorkbook = [];
  for (let number = 1; parts.has(`xl/worksheets/sheet${number}.xml`); number += 1) {
    sheets.push(readSheet(parts.get(`xl/worksheets/sheet${number}.xml`) ?? ''));
  }
  return sheets;
}

/** Entries of an archive by name, found through its central directory. */
export function unzip(file: Buffer): Map<string, string> {
  const parts = new Map<string, string>();
  const end = file.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'));
  let at = file.readUInt32LE(end + 16);
  for (let count = file.readUInt16LE(end + 10); count > 0; count -= 1) {
    const [nameBytes, extraBytes] = [file.readUInt16LE(at + 28), file.readUInt16LE(at + 30)];
    const header = file.readUInt32LE(at + 42);
    const from = header + 30 + file.readUInt16LE(header + 26) + file.readUInt16LE(header + 28);
    const text = inflateRawSync(file.subarray(from, from + file.readUInt32LE(at + 20))).toString('utf8');
    parts.set(file.toString('utf8', at + 46, at + 46 + nameBytes), text);
    at += 46 + nameBytes + extraBytes;
  }
  return parts;
}

function readSheet(xml: string): ReadCell[][] {
  return [...xml.matchAll(/<row r="\d+">(.*?)<\/row>/gs)].map(([, cells = '']) => {
    const row: ReadCell[] = [];
    const cell =
      /<c r="([A-Z]+)\d+"(?: s="\d+")?(?: t="(\w+)")?>(?:<is><t[^>]*>(.*?)<\/t><\/is>|<v>(.*?)<\/v>)<\/c>/gs;
    for (const [, letters = '', type, text, value] of cells.matchAll(cell)) {
      row[columnIndex(letters)] =
        type === 'inlineStr'
          ? { type: 'text', value: decodeText(decodeXml(text ?? '')) }
          : { type: type === 'b' ? 'boolean' : 'number', value: value ?? '' };
    }
    return Array.from(row, (read) => read ?? null);
  });
}

function columnIndex(letters: string): number {
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

function decodeXml(text: string): string {
  return text
    .replaceAll('&#13;', '\r')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}

/** `_xHHHH_` of ECMA-376. */
function decodeText(text: string): string {
  return text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

/**
 * A second opinion by readers that know nothing of ours: Python's zipfile checks the archive and every checksum, expat
 * the XML, and the script follows content types and relations as a spreadsheet does. Null where there is no Python.
 */
export function readWithPython(path: string): ReadWorkbook | null {
  const run = spawnSync('python3', ['-c', pythonReader, path], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (run.error !== undefined) return null;
  if (run.status !== 0) throw new Error(`Python could not read ${path}:\n${run.stderr}`);
  const sheets = JSON.parse(run.stdout) as ReadWorkbook;
  return sheets.map((rows) =>
    rows.map((row) =>
      row.map((cell) => (cell?.type === 'text' ? { type: 'text', value: decodeText(cell.value) } : cell)),
    ),
  );
}

const pythonReader = `
import json, re, sys, zipfile
import xml.etree.ElementTree as ET
M = '{http://schemas.openxmlformats.org/spreadsheetml/2006/main}'
P = '{http://schemas.openxmlformats.org/package/2006/relationships}'
O = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
book = zipfile.ZipFile(sys.argv[1])
assert book.testzip() is None
parts = {name: ET.fromstring(book.read(name)) for name in book.namelist()}
types = parts['[Content_Types].xml']
overrides = {e.get('PartName'): e.get('ContentType') for e in types if e.tag.endswith('Override')}
defaults = {e.get('Extension') for e in types if e.tag.endswith('Default')}
for name in book.namelist():
    assert '/' + name in overrides or name.rsplit('.', 1)[1] in defaults, name
for name in overrides:
    assert name[1:] in parts, name
(main,) = [e.get('Target') for e in parts['_rels/.rels'] if e.get('Type') == O + '/officeDocument']
assert overrides['/' + main].endswith('sheet.main+xml')
relations = {e.get('Id'): e for e in parts['xl/_rels/workbook.xml.rels']}
formats = len(parts['xl/styles.xml'].find(M + 'cellXfs'))
def index(letters):
    n = 0
    for letter in letters: n = n * 26 + ord(letter) - 64
    return n - 1
sheets = []
for sheet in parts[main].find(M + 'sheets'):
    target = 'xl/' + relations[sheet.get('{' + O + '}id')].get('Target')
    assert overrides['/' + target].endswith('worksheet+xml')
    rows = []
    for number, row in enumerate(parts[target].find(M + 'sheetData'), 1):
        assert int(row.get('r')) == number
        cells = []
        for cell in row:
            letters, line = re.fullmatch('([A-Z]+)([0-9]+)', cell.get('r')).groups()
            assert int(line) == number and index(letters) >= len(cells)
            assert int(cell.get('s', 0)) < formats
            cells += [None] * (index(letters) - len(cells))
            kind = cell.get('t')
            text = cell.find(M + 'is/' + M + 't')
            if kind == 'inlineStr': cells.append({'type': 'text', 'value': text.text or ''})
            else: cells.append({'type': 'boolean' if kind == 'b' else 'number', 'value': cell.find(M + 'v').text})
        rows.append(cells)
    sheets.append(rows)
print(json.dumps(sheets))
`;
