export type ReportEncoding = 'utf-8' | 'utf-8 with bom' | 'utf-16le with bom' | 'shift_jis';

export function encodeReport(text: string, encoding: ReportEncoding): Buffer {
  if (encoding === 'utf-8') return Buffer.from(text);
  if (encoding === 'utf-8 with bom') return Buffer.from(`\ufeff${text}`);
  if (encoding === 'utf-16le with bom') return Buffer.from(`\ufeff${text}`, 'utf16le');
  return encodeShiftJis(text);
}

/** Node decodes Shift_JIS but does not encode it: the decoder's table is turned round. */
function encodeShiftJis(text: string): Buffer {
  shiftJisTable ??= buildShiftJisTable();
  const bytes = Buffer.alloc(text.length * 2);
  let length = 0;
  for (const character of text) {
    const code = shiftJisTable.get(character);
    if (code === undefined)
      throw new Error(`Shift_JIS has no "${character}". Take it out of the report's words.`);
    if (code > 0xff) {
      bytes[length] = code >> 8;
      length += 1;
    }
    bytes[length] = code & 0xff;
    length += 1;
  }
  return bytes.subarray(0, length);
}

let shiftJisTable: Map<string, number> | null = null;

function buildShiftJisTable(): Map<string, number> {
  const decoder = new TextDecoder('shift_jis');
  const table = new Map<string, number>();
  const learn = (bytes: number[]) => {
    const character = decoder.decode(Uint8Array.from(bytes));
    if ([...character].length !== 1 || character === '\ufffd' || table.has(character)) return;
    table.set(
      character,
      bytes.reduce((code, byte) => code * 256 + byte, 0),
    );
  };
  for (let byte = 0; byte <= 0xff; byte += 1) learn([byte]);
  for (let lead = 0x81; lead <= 0xfc; lead += 1) {
    if (lead > 0x9f && lead < 0xe0) continue;
    for (let trail = 0x40; trail <= 0xfc; trail += 1) learn([lead, trail]);
  }
  return table;
}
